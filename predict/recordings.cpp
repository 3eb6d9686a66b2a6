// SPDX-License-Identifier: Apache-2.0
#include "predict/recordings.h"

#include "model/kernels/kernel_time.h"

namespace draftline {

Precision Recordings::precision(const Setup& s, const MethodChoice& m) {
  Precision p = s.precision;
  if (m.spec.entry().draft_network && !p.draft_given) {
    const auto [it, fresh] = draft_formats_.try_emplace(m.spec);
    if (fresh && m.spec.draft())
      if (const auto shape = find_(*m.spec.draft()); shape.checkpoint) it->second = shape.checkpoint->mlp;
    if (it->second) p.draft = *it->second;
  }
  return served_precision(std::move(p), *s.device);
}

const std::shared_ptr<RecordedMethod>& Recordings::of(const Setup& s, const MethodChoice& m) {
  const Precision precision = this->precision(s, m);
  const auto known = methods_.find(std::tie(s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()));
  if (known != methods_.end()) return known->second;
  auto fresh = std::make_shared<RecordedMethod>(s, precision, m, find_, drafter_,
                                                [this](std::size_t bytes) { make_room(bytes); });
  return methods_[{s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()}] = std::move(fresh);
}

void Recordings::make_room(std::size_t bytes) {
  constexpr std::size_t kMostBytes = std::size_t{160} << 20;
  bytes_ += bytes;
  if (bytes_ <= kMostBytes) return;
  for (auto& [key, method] : methods_) method->forget();
  bytes_ = bytes;
}

std::optional<int> Recordings::chain_length(const Setup& s, const MethodChoice& m) {
  const int depth = method(s, m).usual_depth();
  const auto& lengths = m.spec.entry().lengths;
  const bool other_drafts =
      !m.spec.draft_length() && (lengths.varies_by_default || lengths.tree_by_default || m.spec.says_drafts());
  if (other_drafts || depth < 1 || depth > lengths.most || m.spec.draft_length().value_or(depth) != depth)
    return std::nullopt;
  return verified_rows(s, m) == depth + 1 ? std::optional(depth) : std::nullopt;
}

std::optional<MethodChoice> Recordings::with_sharded_draft(const Setup& s, const MethodChoice& m) {
  if (s.parallel.tensor() == 1 || !m.spec.entry().draft_network || m.drafter_device) return std::nullopt;
  if (refuses_shards(find_(*m.spec.draft()), {.devices = s.parallel.tensor()})) return std::nullopt;
  return m.with(m.spec.with_shard_draft(ShardDraft::yes));
}

std::optional<std::string> Recordings::refuses_drafter_device(const Setup& s, const MethodChoice& m) {
  if (!m.drafter_device) return std::nullopt;
  const Device& own = *m.drafter_device->device;
  Setup there = s;
  there.device = m.drafter_device->device;
  if (s.parallel.attention_replicas > 1)
    return "a drafter on its own device is not modelled with data-parallel attention";
  if (precision(there, m).draft != precision(s, m).draft)
    return own.name + " computes the draft network in another format than " + s.device->name +
           ": give \"draft\" in \"precision\", a format that both support";
  return std::nullopt;
}

}  // namespace draftline
