// SPDX-License-Identifier: Apache-2.0
// The peak memory of a paper's system while it serves one sequence, by the accounting of model/devices/memory: weights,
// the drafter's modules, KV caches in the layout of the system's code, and the logits of a prompt. The "memory" of a
// file of data/papers describes the code of each method, with sources. Nothing is calibrated.
#pragma once
#include <map>

#include "model/devices/memory.h"
#include "papers/paper_stack.h"

namespace draftline {

class PeakMemory {
 public:
  // `in`: the file's "memory", where mistakes are noted. The stack must outlive this object.
  PeakMemory(const Reader& in, PaperStack& stack) : in_(in), stack_(stack) {}

  struct System {
    const TransformerShape& target;
    DType weights;             // format of the target's weights; caches and drafter have 16 bits
    std::string method, task;  // names of the paper
  };
  // The larger of the memory after a prompt has been read and that at the end of the longest text. None if the file
  // does not describe the method's code or the task's texts.
  std::optional<Bytes> peak(const System&);
  std::optional<Bytes> loaded(const System&);  // before any text: weights, modules and workspace; none as for peak()

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
