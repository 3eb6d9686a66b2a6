// SPDX-License-Identifier: Apache-2.0
#include "reports/row_notes.h"

#include <algorithm>

namespace draftline {

namespace {

std::vector<std::string> texts_of(const Caveats& c) {
  std::vector<std::string> all = c.warnings;
  if (!c.no_interval.empty()) all.push_back(c.no_interval);
  return all;
}

// "a" to "z", then "aa"
std::string letters(std::size_t i) {
  const std::string last(1, static_cast<char>('a' + i % 26));
  return i < 26 ? last : letters(i / 26 - 1) + last;
}

}  // namespace

std::string RowNotes::mark(const Caveats& c) {
  std::string marks;
  for (const std::string& text : texts_of(c)) {
    const auto found = std::ranges::find(texts_, text);
    const auto i = static_cast<std::size_t>(found - texts_.begin());
    if (found == texts_.end()) texts_.push_back(text);
    marks += (marks.empty() ? "" : ", ") + letters(i);
  }
  return marks;
}

std::vector<std::string> RowNotes::lines() const {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < texts_.size(); ++i) all.push_back("warning: (" + letters(i) + ") " + texts_[i]);
  return all;
}

std::string text_of(const Caveats& c) {
  std::string all;
  for (const std::string& text : texts_of(c)) all += (all.empty() ? "" : "; ") + text;
  return all;
}

void write_caveats(JsonWriter& w, const Caveats& c) {
  if (!c.warnings.empty()) w.list("warnings", c.warnings);
  if (!c.no_interval.empty()) w.member("no_interval", c.no_interval);
}

std::vector<std::string> lines_of(const Caveats& c) {
  std::vector<std::string> all;
  for (const std::string& text : texts_of(c)) all.push_back("warning: " + text);
  return all;
}

}  // namespace draftline
