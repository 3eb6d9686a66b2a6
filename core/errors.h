// SPDX-License-Identifier: Apache-2.0
// The exceptions of draftline, by cause; cli/ maps each to an exit code.
#pragma once
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

// The user's input is wrong. Holds every mistake that was found, each with its place ("file.json#/pointer: message").
// Exit code 2.
class InputErrors : public std::runtime_error {
 public:
  explicit InputErrors(std::vector<std::string> messages);
  template <std::convertible_to<std::string_view> Text>  // a template, so that {"a", "b"} is not taken as two iterators
  explicit InputErrors(const Text& message) : InputErrors(std::vector{std::string(message)}) {}
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

// The device failed or does not exist. Exit code 3.
class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The device has less free memory than was requested. The device remains usable, and a smaller request may succeed.
class OutOfDeviceMemory : public DeviceError {
  using DeviceError::DeviceError;
};

// The output could not be written: full disk, closed pipe. Exit code 3.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A violated invariant of draftline itself, never reachable from input. Exit code 4.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};

// raise_bug() throws Bug; check() throws it unless the condition holds. The defaults are the caller's position, as
// std::source_location would give it (clang 14 has none).
[[noreturn]] void raise_bug(std::string_view what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
inline void check(bool holds, std::string_view what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!holds) raise_bug(what, file, line);
}

}  // namespace draftline
