// SPDX-License-Identifier: Apache-2.0
// The steps of methods on networks: recorded once, for any device and engine.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "predict/recorded_method.h"

namespace draftline {

// A method of the same name, parameters, ranks of acceptance, network, precision and parallelism is recorded once. Each
// thread needs its own recordings. Throws MethodMistake if a method does not fit its network.
class Recordings {
 public:
  explicit Recordings(Decoder::FindTransformer find, Decoder::FindDrafter drafter = {})
      : find_(std::move(find)), drafter_(std::move(drafter)) {}
  Recordings(const Recordings&) = delete;  // recorded methods refer to it

  const std::shared_ptr<RecordedMethod>& of(const Setup&, const MethodChoice&);

  const Method& method(const Setup& s, const MethodChoice& m) { return of(s, m)->method(); }
  int verified_rows(const Setup& s, const MethodChoice& m) {  // per sequence and step
    return of(s, m)->verified_rows(s.replica_sequences());
  }
  // The draft length of a chain, given or the method's default; none if the method does not draft a chain of fixed
  // length.
  std::optional<int> chain_length(const Setup&, const MethodChoice&);
  // The tapes of one decode step of the setup's batch. They are valid until the method is used again.
  std::vector<SegmentRun> recorded_step(const Setup& s, const MethodChoice& m) {
    return of(s, m)->record_step(s.replica_sequences());
  }
  // The method with its draft network divided among the ranks; none if it has no draft network, there is one rank, or
  // the network can't be divided.
  std::optional<MethodChoice> with_sharded_draft(const Setup&, const MethodChoice&);
  // Why the method's drafter can't have a device of its own here; none: it can, or it has none.
  std::optional<std::string> refuses_drafter_device(const Setup&, const MethodChoice&);

 private:
  using Key = std::tuple<std::shared_ptr<const TransformerShape>, Parallelism, Precision, MethodSpec, RankAcceptance>;
  // The formats in which the device computes. A draft network has its checkpoint's formats unless the scenario gives
  // others.
  Precision precision(const Setup&, const MethodChoice&);
  void make_room(std::size_t bytes);

  Decoder::FindTransformer find_;
  Decoder::FindDrafter drafter_;
  std::size_t bytes_ = 0;  // of all outlines
  std::map<Key, std::shared_ptr<RecordedMethod>, std::less<>> methods_;
  std::map<MethodSpec, std::optional<LinearFormat>> draft_formats_;  // of draft networks' checkpoints
};

}  // namespace draftline
