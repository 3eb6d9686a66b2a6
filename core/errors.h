// SPDX-License-Identifier: Apache-2.0
// What can go wrong, by whose fault; cli/ turns each into its exit code.
#pragma once
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

// The user's input is wrong: every mistake that was found, each with its place ("file.json#/pointer: message"). Exit 2.
class InputErrors : public std::runtime_error {
 public:
  explicit InputErrors(std::vector<std::string> messages);
  template <std::convertible_to<std::string_view> Text>  // a template, lest {"a", "b"} be a pair of iterators
  explicit InputErrors(const Text& message) : InputErrors(std::vector{std::string(message)}) {}
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

// The device failed or is not there. Exit 3.
class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The device has less memory than was asked for: nothing is lost, and something smaller may run.
class OutOfDeviceMemory : public DeviceError {
  using DeviceError::DeviceError;
};

// The output could not be written: full disk, closed pipe. Not a mistake in a file that was read.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A broken promise inside draftline, never reachable from input. Exit 4.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};

// The defaults are the caller's place, as std::source_location would give it (clang 14 has none).
[[noreturn]] void raise_bug(std::string_view what, const char* file = __builtin_FILE(), int line = __builtin_LINE());
inline void check(bool holds, std::string_view what, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!holds) raise_bug(what, file, line);
}

}  // namespace draftline
