// SPDX-License-Identifier: Apache-2.0
// What can go wrong, by whose fault; cli/ turns each into its exit code (DESIGN.md section 6).
#pragma once
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

// The user's input is wrong: every mistake that was found, each with its place ("file.json#/pointer: message"). Exit 2.
class InputErrors : public std::runtime_error {
 public:
  explicit InputErrors(std::vector<std::string> messages);
  explicit InputErrors(std::string message) : InputErrors(std::vector{std::move(message)}) {}
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  std::vector<std::string> messages_;
};

// The device failed or is not there. Exit 3.
class DeviceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The output could not be written: full disk, closed pipe. Not a mistake in a file that was read.
class OutputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A broken promise inside draftline, never reachable from input. Exit 4.
class Bug : public std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void raise_bug(std::string_view what, std::source_location where);
inline void check(bool holds, std::string_view what, std::source_location where = std::source_location::current()) {
  if (!holds) raise_bug(what, where);
}

}  // namespace draftline
