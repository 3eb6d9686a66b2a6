// SPDX-License-Identifier: Apache-2.0
#include "core/notes.h"

#include <mutex>
#include <unordered_set>

#include "core/errors.h"

namespace draftline {

namespace {

std::mutex mutex;
std::function<void(const std::string&)> listener;
// The notes that the listener has received. Each thread, and each pin of a file, reads a document again.
std::unordered_set<std::string> told;

}  // namespace

NoteListener::NoteListener(std::function<void(const std::string&)> one) {
  const std::lock_guard lock(mutex);
  check(!listener, "one listener at a time");
  listener = std::move(one);
}

NoteListener::~NoteListener() {
  const std::lock_guard lock(mutex);
  listener = nullptr;
  told.clear();
}

void tell_listener(const std::string& note) {
  const std::lock_guard lock(mutex);
  if (listener && told.insert(note).second) listener(note);
}

}  // namespace draftline
