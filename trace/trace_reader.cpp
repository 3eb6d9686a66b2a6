// SPDX-License-Identifier: Apache-2.0
// Reads a trace line by line. Memory grows with the bytes read and never with a number in the file.
#include <cmath>

#include "core/fingerprint.h"
#include "core/gzip_lines.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "trace/trace.h"

namespace draftline {

namespace {

using nlohmann::json;

constexpr int kMostDrafts = 1 << 16;  // of a step, in a file

class LineReader {
 public:
  LineReader(const GzipLines& lines, const std::string& text) : lines_(lines) {
    ParsedJson parsed = parse_json(text);
    if (!parsed.error.empty()) lines_.fail(parsed.error);
    root_ = std::move(parsed.root);
    if (!root_.is_object()) lines_.fail("must be a JSON object");
  }
  bool has(const char* key) const { return root_.contains(key); }
  const json& at(const json& in, const char* key) const {
    const auto it = in.is_object() ? in.find(key) : in.end();
    if (!in.is_object() || it == in.end()) lines_.fail("\"" + std::string(key) + "\" is missing");
    return *it;
  }
  const json& at(const char* key) const { return at(root_, key); }
  double number(const json& v, const char* what, double least, double most) const {
    if (!v.is_number()) lines_.fail("\"" + std::string(what) + "\" must be a number");
    const double x = v.get<double>();
    if (!(x >= least && x <= most)) lines_.fail("\"" + std::string(what) + "\" is out of range");
    return x;
  }
  std::int64_t integer(const json& v, const char* what, double least, double most) const {
    const double x = number(v, what, least, most);
    if (x != std::floor(x)) lines_.fail("\"" + std::string(what) + "\" must be a whole number");
    return to_int64(x);
  }
  int count(const json& v, const char* what, double least, double most) const {
    return to_int(integer(v, what, least, most));
  }
  std::string text(const json& v, const char* what) const {
    if (!v.is_string()) lines_.fail("\"" + std::string(what) + "\" must be text");
    return v.get<std::string>();
  }
  const json& array(const json& v, const char* what) const {
    if (!v.is_array()) lines_.fail("\"" + std::string(what) + "\" must be an array");
    return v;
  }

 private:
  const GzipLines& lines_;
  json root_;
};

TraceHeader read_header(const GzipLines& lines, const std::string& text) {
  const LineReader in(lines, text);
  if (!in.has("kind") || in.at("kind") != "acceptance_trace") lines.fail("no acceptance trace");
  if (in.integer(in.at("schema_version"), "schema_version", 0, 1e9) != 1)
    lines.fail("an acceptance trace of an unknown schema_version");
  TraceHeader h;
  const json& target = in.at("target");
  h.target = in.text(in.at(target, "name"), "name");
  h.fingerprint = in.text(in.at(target, "fingerprint"), "fingerprint");
  h.weights = in.text(in.at(target, "weights"), "weights");
  if (in.has("drafter")) {  // older files are silent, of all or of its configuration
    const json& drafter = in.at("drafter");
    if (const json& weights = in.at(drafter, "weights"); !weights.is_null())
      h.drafter.weights = in.text(weights, "weights");
    if (drafter.contains("config") && !drafter.at("config").is_null())
      h.drafter.config = in.text(drafter.at("config"), "config");
  }
  const json& method = in.at("method");
  if (!method.is_object()) lines.fail("\"method\" must be an object");
  in.text(in.at(method, "name"), "name");
  h.method = method.dump();
  h.task = in.text(in.at("task"), "task");
  if (!in.at("steps_because").is_null()) h.steps_because = in.text(in.at("steps_because"), "steps_because");
  if (in.has("own_depth") && in.at("own_depth") != 0) {
    h.own_depth = in.count(in.at("own_depth"), "own_depth", 1, 1024);
    h.lengths_because = in.text(in.at("lengths_because"), "lengths_because");
  }
  h.depth = in.count(in.at("depth"), "depth", h.steps() || h.lengths() ? 0 : 1, 1024);
  if (in.integer(in.at("candidates"), "candidates", 1, 1e6) != kTraceCandidates)
    lines.fail("\"candidates\" must be " + std::to_string(kTraceCandidates));
  const json& sampling = in.at("sampling");
  h.sampling.temperature =
      static_cast<decltype(h.sampling.temperature)>(in.number(in.at(sampling, "temperature"), "temperature", 0, 100));
  h.sampling.top_k = in.count(in.at(sampling, "top_k"), "top_k", 0, 1 << 30);
  h.sampling.top_p = static_cast<decltype(h.sampling.top_p)>(in.number(in.at(sampling, "top_p"), "top_p", 0, 1));
  const json& seed = in.at(sampling, "seed");
  if (!seed.is_number_unsigned()) lines.fail("\"seed\" must be a whole number, not negative");
  h.seed = seed.get<std::uint64_t>();
  h.commit = in.text(in.at("commit"), "commit");
  return h;
}

}  // namespace

Trace Trace::read(const std::filesystem::path& path, const Files& files) {
  GzipLines lines(path, files);
  std::string text;
  if (!lines.next(text)) lines.fail("is empty");
  Trace t;
  t.header_ = read_header(lines, text);
  Fingerprint sum;
  sum.add(text);
  const std::size_t depth = at(t.header_.depth);
  bool any_step = false;  // a text of n tokens has n - 1 positions with a step
  for (;;) {
    if (!lines.next(text)) lines.fail("the last line, with count and checksum, is missing");
    const LineReader in(lines, text);
    if (in.has("checksum")) {
      if (in.text(in.at("checksum"), "checksum") != to_hex(sum.value()) ||
          in.integer(in.at("prompts"), "prompts", 0, 1e15) != t.prompts() ||
          in.integer(in.at("positions"), "positions", 0, 1e15) != to_int64(t.starts_.back()))
        lines.fail("count or checksum differ from the lines above: the file was changed or lacks lines");
      if (t.prompts() == 0) lines.fail("it holds no prompt");
      if (!any_step) lines.fail("it holds no step: texts of a single token need none");
      if (lines.next(text)) lines.fail("text after the last line");
      return t;
    }
    sum.add(text);
    if (in.integer(in.at("prompt"), "prompt", 0, 1e9) != t.prompts()) lines.fail("\"prompt\" is out of order");
    t.prompt_tokens_.push_back(in.count(in.at("prompt_tokens"), "prompt_tokens", 1, 1e9));
    const std::size_t positions = in.array(in.at("tokens"), "tokens").size();
    if (positions == 0) lines.fail("\"tokens\" is empty: a text has at least the token of its prefill");
    for (const json& token : in.at("tokens")) in.integer(token, "tokens", 0, 2e9);
    t.starts_.push_back(t.starts_.back() + positions);
    t.steps_.emplace_back();
    if (t.header_.steps()) {
      for (const json& a : in.array(in.at("steps"), "steps"))
        t.steps_.back().push_back(in.count(a, "steps", 1, t.header_.depth + 1));
      any_step = any_step || !t.steps_.back().empty();
      if (count(t.drafts_) != (in.has("drafts") ? t.prompts() - 1 : 0))
        lines.fail("some prompts have \"drafts\" and others do not");
      if (!in.has("drafts")) continue;
      t.drafts_.emplace_back();
      for (const json& n : in.array(in.at("drafts"), "drafts"))
        t.drafts_.back().push_back(in.count(n, "drafts", 0, kMostDrafts));
      if (t.drafts_.back().size() != t.steps_.back().size()) lines.fail("\"drafts\" needs an entry for each step");
      for (std::size_t i = 0; i < t.steps_.back().size(); ++i)
        if (t.steps_.back()[i] > t.drafts_.back()[i] + 1) lines.fail("a step emits more than its drafts and one token");
      continue;
    }
    any_step = any_step || positions > 1;
    if (t.header_.lengths()) {
      const json& lengths = in.array(in.at("lengths"), "lengths");
      if (lengths.size() != positions) lines.fail("\"lengths\" needs an entry for each token");
      for (const json& n : lengths)
        t.lengths_.push_back(static_cast<std::uint16_t>(in.integer(n, "lengths", 1, t.header_.own_depth + 1)));
    }
    if (!t.header_.ranks()) continue;
    const json &ranks = in.array(in.at("ranks"), "ranks"), &shares = in.array(in.at("probabilities"), "probabilities");
    if (ranks.size() != positions || shares.size() != positions)
      lines.fail("\"ranks\" and \"probabilities\" need an entry for each token");
    for (std::size_t p = 0; p < positions; ++p) {
      if (in.array(ranks[p], "ranks").size() != depth || in.array(shares[p], "probabilities").size() != depth)
        lines.fail("\"ranks\" and \"probabilities\" need " + std::to_string(depth) + " levels");
      for (std::size_t d = 0; d < depth; ++d) {
        const json &rank = ranks[p][d], &share = shares[p][d];
        if (rank.is_null() != share.is_null()) lines.fail("a rank without its probability, or the other way round");
        if (!share.is_null()) in.number(share, "probabilities", 0, 1);
        t.ranks_.push_back(
            rank.is_null() ? kNoRank : static_cast<std::uint8_t>(in.integer(rank, "ranks", 0, kTraceCandidates - 1)));
      }
    }
  }
}

}  // namespace draftline
