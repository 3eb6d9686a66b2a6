// SPDX-License-Identifier: Apache-2.0
// Assisted generation of Hugging Face transformers (METHODS.md 3.3): a draft network whose draft length follows a schedule
// (constant; heuristic: two more after a full match, else one fewer) and ends early where it is unsure.
#include <algorithm>
#include <map>

#include "methods/draft_network.h"
#include "methods/early_stop.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kMost = 64;

class Assisted : public Method {
 public:
  Assisted(DraftNetwork draft, int length, bool heuristic, double threshold)
      : draft_(std::move(draft)), length_(length), heuristic_(heuristic), threshold_(threshold) {}
  int usual_depth() const override { return length_; }
  bool static_plan() const override { return false; }
  int depth() const override { return heuristic_ ? kMost : length_; }
  int rewrites() const override { return 1; }
  void extend(Ops& ops, const Session& s, const Committed& c) override { draft_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(history_, s.ids);
    std::vector<int> limits;
    for (std::size_t i = 0; i < s.ids.size(); ++i) limits.push_back(limit(s.ids[i], s.lengths[i]));
    EarlyStop stop;
    stop.most = *std::max_element(limits.begin(), limits.end());
    stop.goes_on = [&](std::size_t i, int drafted, double probability) {
      return drafted < limits[i] && probability >= threshold_;
    };
    auto chain = draft_until(ops, s, stop, [&](int j, Tensor token) {
      return j == 0 ? draft_.first(ops, s) : draft_.next(ops, s, token, ops.uniform(s.sequences, 1), j);
    });
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      History& h = history_[s.ids[i]];
      h.length = s.lengths[i];
      h.drafted = chain.lengths[i];
    }
    return std::move(chain.proposal);
  }

 private:
  struct History {
    int limit = 0, length = -1, drafted = 0;
  };
  // What the schedule allows now; how many were accepted shows in the text's growth.
  int limit(int id, int length) {
    History& h = history_[id];
    if (h.length < 0 || length <= h.length) h = {length_, -1, 0};  // a new text
    else if (heuristic_)
      h.limit = length - h.length == h.drafted + 1 ? std::min(kMost, h.limit + 2) : std::max(1, h.limit - 1);
    return h.limit;
  }
  DraftNetwork draft_;
  int length_;
  bool heuristic_;
  double threshold_;
  std::map<int, History> history_;  // by sequence
};

std::unique_ptr<Method> make(const Reader& in, Context& c) {
  constexpr std::string_view kSchedules[] = {"constant", "heuristic"};
  const auto schedule = in.find("schedule");
  const bool heuristic = schedule && schedule->choice(kSchedules) == 1;
  const int length = read_draft_length(in, heuristic ? 5 : 20, kMost);
  const auto threshold = in.find("confidence");
  return std::make_unique<Assisted>(DraftNetwork(in, c), length, heuristic,
                                    threshold   ? threshold->ratio()
                                    : heuristic ? 0
                                                : 0.4);
}

}  // namespace

Entry assisted() {
  return {"assisted",
          "a smaller network, its draft length by schedule and confidence",
          "hf-assisted",
          "assisted generation",
          Losslessness::lossless,
          "draft: a transformer of the same vocabulary; schedule (\"constant\" or \"heuristic\"); draft_length (20; "
          "heuristic: 5 to "
          "start with); confidence (0.4; heuristic: 0)",
          make,
          {R"("draft": "half", "draft_length": 5, "confidence": 0.3)",
           R"("draft": "half", "draft_length": 2, "schedule": "heuristic")"}};
}

}  // namespace draftline::methods
