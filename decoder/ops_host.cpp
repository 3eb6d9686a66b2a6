// SPDX-License-Identifier: Apache-2.0
// The host's side of Ops: what it reads and decides, and where a segment ends.
#include <algorithm>
#include <utility>

#include "decoder/ops.h"

namespace draftline {

std::vector<int> Ops::decide(std::optional<Tensor> from, const Rule& rule, const std::vector<int>& usual) {
  if (from) flush();
  if (script_) { return next_answer_ < script_->size() ? (*script_)[next_answer_++] : usual; }
  return answers_.emplace_back(rule(from ? backend_.read(*from) : std::vector<int>{}));
}

void Ops::look_up(int texts, int trees) {
  tape_.texts += texts;
  tape_.trees += trees;
  hasher_.hash.add(texts);
  hasher_.hash.add(trees);
}

std::vector<int> Ops::fetch(Tensor from) {
  flush();
  return backend_.read(from);
}

void Ops::follow(const std::vector<std::vector<int>>* script) {
  script_ = script;
  next_answer_ = 0;
}

void Ops::forget() {
  check(tape_.ops.empty(), "forget: in the middle of a segment");
  tapes_.clear();
  constants_.clear();
  named_.clear();
}

void Ops::flush(bool waits) {
  check(!tape_.ops.empty() || tape_.passes.empty(), "a pass without ops");
  if (tape_.ops.empty()) return;
  tape_.hash = hasher_.hash.value();
  auto [it, fresh] = tapes_.try_emplace(tape_.hash);
  SegmentRun run{nullptr, {}, waits};
  if (on_segment)
    for (const Pass& p : tape_.passes) {
      run.rows.push_back(p.rows.each);
      run.ahead.push_back(p.ahead);
    }
  const std::size_t ops = tape_.ops.size(), temps = tape_.temps.size();
  if (fresh) {
    check_uploads();
    it->second = std::make_unique<Tape>(std::exchange(tape_, {}));
    tape_.ops.reserve(ops);  // the next one is often as long
    tape_.phases.reserve(ops);
    tape_.temps.reserve(temps);
  } else {
    check(it->second->ops.size() == ops, "two tapes with one hash");
    tape_.ops.clear();
    tape_.phases.clear();
    tape_.passes.clear();
    tape_.temps.clear();
    tape_.texts = tape_.trees = 0;
  }
  backend_.finish(*it->second);
  run.tape = it->second.get();
  if (on_segment) on_segment(run);
  hasher_ = {};
  ++epoch_;
}

// A graph gets its host data before it starts, so no op may read a buffer before it is uploaded in the same segment.
void Ops::check_uploads() const {
  for (std::size_t i = 0; i < tape_.ops.size(); ++i) {
    const auto* upload = std::get_if<Upload>(&tape_.ops[i]);
    if (!upload) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const auto apart = [&](const Tensor& t, bool) {
        check(t.home == Home::temp || t.id != upload->to.id || t.offset != upload->to.offset,
              "an input was used before its upload in one segment");
      };
      std::visit([&](const auto& op) { each_tensor(tape_, op, apart); }, tape_.ops[j]);
    }
  }
}

}  // namespace draftline
