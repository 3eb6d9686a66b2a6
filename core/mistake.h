// SPDX-License-Identifier: Apache-2.0
// A mistake found in a value after it was read, in code without a Reader. A caller that has the Reader notes it.
#pragma once
#include <algorithm>
#include <string>

#include "core/reader.h"

namespace draftline {

struct Mistake {
  std::string pointer;  // JSON pointer below the value, "/tree/nodes/0"; "": the value itself
  std::string text;
};

// A mistake with its place.
struct PlacedMistake {
  Reader in;
  std::string text;
};

// The mistake at its pointer below `in`, or at the deepest step of the pointer that exists.
inline PlacedMistake placed(Reader in, const Mistake& m) {
  for (std::size_t from = 1; from < m.pointer.size();) {
    const std::size_t end = std::min(m.pointer.find('/', from), m.pointer.size());
    const std::string step = m.pointer.substr(from, end - from);
    if (in.is_array() && std::stoul(step) < in.size()) in = in.item(std::stoul(step));
    else if (in.is_object() && in.has(step)) in = in.at(step);
    else break;
    from = end + 1;
  }
  return {in, m.text};
}

inline void note(const Reader& in, const Mistake& m) {
  const PlacedMistake mistake = placed(in, m);
  mistake.in.fail(mistake.text);
}

}  // namespace draftline
