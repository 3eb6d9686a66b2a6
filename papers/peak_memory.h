// SPDX-License-Identifier: Apache-2.0
// The largest memory that a paper's system allocates while it serves one sequence, by model/memory's accounting:
// weights by precision, the drafter's modules, caches as its code keeps them, the logits of a prompt. A file's "memory"
// says which code does what, with sources. Nothing is calibrated.
#pragma once
#include <map>

#include "model/memory.h"
#include "papers/paper_stack.h"

namespace draftline {

class PeakMemory {
 public:
  PeakMemory(const Reader& in, PaperStack& stack) : in_(in), stack_(stack) {}

  struct System {
    const TransformerShape& target;
    DType weights;
    std::string method, task;
  };
  // The larger of two moments: a prompt has just been read; the longest text is about to end. None: the method's code
  // or the task's texts are not known.
  std::optional<Bytes> peak(const System&);
  std::optional<Bytes> loaded(const System&);  // before any text: weights and modules

 private:
  struct Drafter {
    double parameters = 0, cache_elements_per_token = 0;
  };
  std::optional<MemoryPlan> plan(const System&, const Reader& code);
  Drafter drafter(const System&, const Reader& code);
  std::optional<Reader> named(std::string_view list, std::string_view key, const std::string& value) const;

  Reader in_;
  PaperStack& stack_;
  std::map<std::pair<const void*, std::string>, Drafter> drafters_;
};

}  // namespace draftline
