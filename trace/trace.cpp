// SPDX-License-Identifier: Apache-2.0
// The format of a trace: a gzip file of JSON lines. The first line is the header. Each prompt has a line with prompt,
// prompt_tokens, tokens, and: ranks and probabilities [positions][levels], null where there is no rank; or lengths
// [positions], with or without ranks; or steps and drafts [steps]. The last line holds prompts, positions and checksum,
// the fingerprint of all lines above.
#include "trace/trace.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/gzip.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "core/text_file.h"

namespace draftline {

using nlohmann::json;

static constexpr int kSchemaVersion = 1;

std::string weights_name(std::uint64_t checkpoint) { return "checkpoint " + to_hex(checkpoint); }

std::string TraceHeader::random_weights() const {
  const bool of_target = weights.starts_with("random"), of_drafter = drafter.weights.starts_with("random");
  return of_target ? of_drafter ? "target and drafter" : "target" : of_drafter ? "drafter" : "";
}

static auto other_windowed_heads(const AttentionHeads& usual) {
  return [usual](const LayerShape& l) {
    if (!l.window()) return false;
    AttentionHeads h = l.heads()->heads;
    h.values_are_keys = usual.values_are_keys;
    return h != usual;
  };
}

static void add_shape(Fingerprint& f, const TransformerShape& s) {
  const AttentionHeads h = s.usual_heads();
  for (const int n : {s.hidden, s.layers(), h.heads, h.kv_heads, h.head_dim, s.intermediate, s.vocabulary}) f.add(n);
  const HeadAttention* usual = s.usual_layer().heads();
  if (const LatentHeads* latent = s.usual_layer().latent(); latent != nullptr && latent->dims.indexer)
    for (const int n : {latent->dims.indexer->heads, latent->dims.indexer->head_dim, latent->dims.indexer->top_k})
      f.add(n);
  for (int i = 0; i < s.layers(); ++i)
    if (s.layer(i).shares_choice()) f.add(i);
  // What follows is added where it differs from what most networks have, whose traces keep their fingerprints.
  if (const auto windowed = std::ranges::find_if(s.kinds, other_windowed_heads(h)); windowed != s.kinds.end()) {
    const AttentionHeads& w = windowed->heads()->heads;
    for (const int n : {w.heads, w.kv_heads, w.head_dim, w.value_dim, windowed->window()->tokens}) f.add(n);
  }
  if (usual != nullptr && h.value_dim != h.head_dim) f.add(h.value_dim);
  if (s.logit_cap) f.add(std::llround(1000 * *s.logit_cap));
  const bool bias = usual != nullptr && usual->qkv_bias,
             qk_norm = usual != nullptr && usual->qk_norm != QkNorm::none && usual->qk_norm != QkNorm::unweighted;
  for (const bool b : {bias, s.tied_embeddings, qk_norm, s.experts() != nullptr}) f.add(b);
}

std::string target_fingerprint(const TransformerShape& s, const std::string& weights) {
  Fingerprint f;
  f.add(s.name);
  add_shape(f, s);
  f.add(weights);
  return to_hex(f.value());
}

std::string shape_fingerprint(const TransformerShape& s) {
  Fingerprint f;
  add_shape(f, s);
  return to_hex(f.value());
}

// Two significant digits, and at most four decimals.
static double rounded(double probability) {
  const double scale = probability >= 0.1 ? 1e2 : probability >= 0.01 ? 1e3 : 1e4;
  return std::round(scale * probability) / scale;
}

void write_trace(const std::filesystem::path& path, const TraceHeader& h, const std::vector<TracedPrompt>& prompts) {
  std::string text;
  Fingerprint sum;
  std::int64_t positions = 0;
  const bool with_drafts = std::ranges::any_of(prompts, [](const TracedPrompt& p) { return !p.drafts.empty(); });
  const auto known = [](const std::string& text) { return text.empty() ? json(nullptr) : json(text); };
  const auto line = [&](const json& j) {
    const std::string written = j.dump();
    sum.add(written);
    text += written + "\n";
  };
  line({{"schema_version", kSchemaVersion},
        {"kind", "acceptance_trace"},
        {"target", {{"name", h.target}, {"fingerprint", h.fingerprint}, {"weights", h.weights}}},
        {"drafter", {{"weights", known(h.drafter.weights)}, {"config", known(h.drafter.config)}}},
        {"method", json::parse(h.method)},
        {"task", h.task},
        {"steps_because", h.steps() ? json(*h.steps_because) : json(nullptr)},
        {"lengths_because", h.lengths() ? json(*h.lengths_because) : json(nullptr)},
        {"depth", h.depth},
        {"own_depth", h.own_depth},
        {"candidates", kTraceCandidates},
        {"sampling",
         {{"temperature", h.sampling.temperature},
          {"top_k", h.sampling.top_k},
          {"top_p", h.sampling.top_p},
          {"seed", h.seed}}},
        {"commit", h.commit}});
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const TracedPrompt& p = prompts[i];
    json j{{"prompt", i}, {"prompt_tokens", p.prompt_tokens}, {"tokens", p.tokens}};
    positions += std::ssize(p.tokens);
    if (h.ranks()) {
      check(p.ranks.size() == p.tokens.size() * at(h.depth) && p.probabilities.size() == p.ranks.size(),
            "write_trace: a rank per position and level");
      json ranks = json::array(), shares = json::array();
      for (std::size_t t = 0; t < p.tokens.size(); ++t) {
        json r = json::array(), q = json::array();
        for (std::size_t d = t * at(h.depth); d < (t + 1) * at(h.depth); ++d) {
          const bool there = p.ranks[d] != kNoRank;
          r.push_back(there ? json(p.ranks[d]) : json(nullptr));
          q.push_back(there ? json(rounded(p.probabilities[d])) : json(nullptr));
        }
        ranks.push_back(std::move(r));
        shares.push_back(std::move(q));
      }
      j["ranks"] = std::move(ranks);
      j["probabilities"] = std::move(shares);
    }
    if (h.lengths()) {
      check(p.lengths.size() == p.tokens.size(), "write_trace: a length per position");
      j["lengths"] = p.lengths;
    }
    if (h.steps()) {
      j["steps"] = p.steps;
      check(!with_drafts || p.drafts.size() == p.steps.size(), "write_trace: drafts of each step");
      if (with_drafts) j["drafts"] = p.drafts;
    }
    line(j);
  }
  text += json{{"prompts", prompts.size()}, {"positions", positions}, {"checksum", to_hex(sum.value())}}.dump() + "\n";
  AtomicFile file(path);
  const std::string packed = gzip(text);
  file.stream().write(packed.data(), std::ssize(packed));
  file.commit();
}

DraftPlan DraftPlan::chain(int length) {
  DraftPlan p;
  p.depth_ = length;
  return p;
}

DraftPlan DraftPlan::recorded(const TraceHeader& h) {
  DraftPlan p;
  p.depth_ = h.own_depth;
  p.recorded_ = true;
  return p;
}

DraftPlan::DraftPlan(const RankTree& t) : depth_(t.tree.depth()), children_(at(t.tree.rows() * kTraceCandidates)) {
  for (int row = 1; row < t.tree.rows(); ++row) {
    const int rank = t.ranks[at(row)];
    highest_ = std::max(highest_, rank);
    if (rank < kTraceCandidates) children_[at(t.tree.parents()[at(row)] * kTraceCandidates + rank)] = row;
  }
}

std::optional<int> DraftPlan::child(int node, int rank) const {
  if (is_chain()) return rank == 0 && node < depth_ ? std::optional(node + 1) : std::nullopt;
  return rank < kTraceCandidates ? children_[at(node * kTraceCandidates + rank)] : std::nullopt;
}

int Trace::positions(int prompt) const { return to_int(starts_[at(prompt) + 1] - starts_[at(prompt)]); }

std::optional<std::string> Trace::refuses(const DraftPlan& plan) const {
  if (plan.is_recorded())
    return header_.lengths() ? std::nullopt : std::optional("the trace holds no lengths of " + header_.method);
  if (header_.steps())
    return "the trace holds the steps of " + header_.method + ", not ranks: " + *header_.steps_because;
  if (!header_.ranks())
    return "the trace holds the lengths of " + header_.method + ", not ranks: " + *header_.lengths_because;
  if (plan.depth() > header_.depth)
    return "the trace holds " + std::to_string(header_.depth) + " levels, " + std::to_string(plan.depth()) +
           " are drafted";
  if (plan.highest_rank() >= kTraceCandidates)
    return "the tree takes candidates beyond the " + std::to_string(kTraceCandidates) + " that a trace holds";
  return std::nullopt;
}

std::optional<std::string> Trace::wrong_target(const TransformerShape& target) const {
  if (target.name != header_.target) return "the trace was recorded on " + header_.target + ", not on " + target.name;
  if (target_fingerprint(target, header_.weights) == header_.fingerprint) return std::nullopt;
  return "the trace was recorded on another transformer that is called " + header_.target + ", too";
}

std::optional<std::string> Trace::wrong_weights(const std::string& weights) const {
  if (weights == header_.weights) return std::nullopt;
  return "the trace was recorded on other weights of " + header_.target + " (" + printable(header_.weights, 100) +
         ") than those in the folder (" + weights + ")";
}

static bool trained(const std::string& weights) { return weights.starts_with("checkpoint"); }

bool Trace::has_drafter(const DrafterIdentity& d) const {
  return trained(d.weights) && d.weights == header_.drafter.weights;
}

std::optional<std::string> Trace::wrong_drafter(const DrafterIdentity& d) const {
  const DrafterIdentity& recorded = header_.drafter;
  if (trained(recorded.weights) && trained(d.weights)) {
    if (d.weights == recorded.weights) return std::nullopt;
    return "the trace was recorded with other weights of the drafter (" + printable(recorded.weights, 100) +
           ") than those in its folder (" + d.weights + ")";
  }
  if (recorded.config.empty() || d.config.empty() || recorded.config == d.config) return std::nullopt;
  return "the trace was recorded with a drafter of another configuration (" + printable(recorded.config, 100) +
         ") than this one's (" + d.config + ")";
}

int Trace::accepted(int prompt, int position, const DraftPlan& plan) const {
  if (plan.is_recorded()) return lengths_[starts_[at(prompt)] + at(position)];
  const std::uint8_t* rank = ranks_.data() + (starts_[at(prompt)] + at(position)) * at(header_.depth);
  int node = 0, length = 1;
  for (int level = 0; level < plan.depth(); ++level, ++length) {
    const std::optional<int> child = plan.child(node, rank[level]);
    if (!child) break;
    node = *child;
  }
  return length;
}

std::vector<int> Trace::replay(int prompt, const DraftPlan& plan) const {
  if (header_.steps()) return steps(prompt);
  std::vector<int> all;
  for (int position = 0; position + 1 < positions(prompt); position += all.back())
    all.push_back(accepted(prompt, position, plan));
  return all;
}

double Trace::mean_length(const DraftPlan& plan) const {
  double emitted = 0, steps = 0;
  for (int p = 0; p < prompts(); ++p) {
    for (const int a : replay(p, plan)) emitted += a, ++steps;
  }
  return steps > 0 ? emitted / steps : 1;
}

std::vector<double> Trace::shares_of_drafts() const {
  std::vector<double> shares;
  double steps = 0;
  for (const auto& of_prompt : drafts_)
    for (const int n : of_prompt) {
      if (shares.size() <= at(n)) shares.resize(at(n) + 1);
      ++shares[at(n)], ++steps;
    }
  for (double& share : shares) share /= steps;
  return shares;
}

RankAcceptance Trace::rank_acceptance() const {
  RankAcceptance shares(at(header_.depth), std::vector<double>(kTraceCandidates, 0.0));
  const double positions = to_double(std::max<std::size_t>(1, starts_.back()));
  if (!header_.ranks()) return {};
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i] != kNoRank) shares[i % at(header_.depth)][ranks_[i]] += 1 / positions;
  return shares;
}

}  // namespace draftline
