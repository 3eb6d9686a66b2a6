// SPDX-License-Identifier: Apache-2.0
// What a user should know though it is no mistake. Libraries do not print: whoever talks to the user listens.
#pragma once
#include <functional>
#include <string>

namespace draftline {

// While one lives it is told each note of every document that is read, once, from whichever thread reads it. One at a
// time.
class NoteListener {
 public:
  explicit NoteListener(std::function<void(const std::string&)> told);
  ~NoteListener();
  NoteListener(const NoteListener&) = delete;
  NoteListener& operator=(const NoteListener&) = delete;
};

void tell_listener(const std::string& note);

}  // namespace draftline
