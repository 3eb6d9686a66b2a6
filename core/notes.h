// SPDX-License-Identifier: Apache-2.0
// Notes: what a user should know though it is no mistake, such as a key with an outdated name. Libraries do not print;
// the program installs a listener.
#pragma once
#include <functional>
#include <string>

namespace draftline {

// While it lives, its function is called once for each distinct note of the documents that are read, from the thread
// that reads the document. A second listener at the same time is a Bug.
class NoteListener {
 public:
  explicit NoteListener(std::function<void(const std::string&)> told);
  ~NoteListener();
  NoteListener(const NoteListener&) = delete;
  NoteListener& operator=(const NoteListener&) = delete;
};

void tell_listener(const std::string& note);  // passes a note to the listener, if there is one; thread-safe

}  // namespace draftline
