// SPDX-License-Identifier: Apache-2.0
// Trees as the methods really draft them: what each row means, and which candidates a dynamic tree keeps.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

// A method as it is, but what it proposes and what the target says of it is kept.
class Watched : public Method {
 public:
  explicit Watched(Method& method) : method_(method) {}
  std::vector<int> auxiliary_layers() const override { return method_.auxiliary_layers(); }
  const PromptSelection* selection() const override { return method_.selection(); }
  int depth() const override { return method_.depth(); }

  Proposal propose(Ops& ops, Session& s) override {
    const Proposal p = method_.propose(ops, s);
    rows_ = p.rows.each;
    tokens_ = kept(ops, "watched.tokens", p.tokens);
    parents_ = kept(ops, "watched.parents", p.parents);
    return p;
  }
  void extend(Ops& ops, const Session& s, const Committed& c) override {
    logits_ = kept(ops, "watched.logits", c.logits);
    method_.extend(ops, s, c);
  }

  const std::vector<int>& rows() const { return rows_; }
  std::vector<int> tokens(Ops& ops) const { return ops.fetch(tokens_); }
  std::vector<int> parents(Ops& ops) const { return ops.fetch(parents_); }
  std::vector<float> logits(Rig& rig) const { return rig.cpu().read_floats(logits_); }

 private:
  static Tensor kept(Ops& ops, const std::string& name, Tensor x) {
    const Tensor kept = ops.persistent(name, x.rows, x.cols, x.dtype);
    ops.store(kept, x);
    return kept;
  }
  Method& method_;
  std::vector<int> rows_;
  Tensor tokens_, parents_, logits_;
};

struct WatchedRig {
  Rig rig;
  Watched method;
  Generator generator;
  WatchedRig(const Plan& plan, int slots)
      : rig(plan, Rig::Kind::cpu_planned, slots),
        method(*rig.decoder.method),
        generator(rig.decoder.ops, rig.decoder.target, method) {
    rig.decoder.ops.on_segment = {};  // the accounts are not of interest here
  }
};

// Logits behind each text, by a fresh prefill.
std::vector<float> logits_behind(const std::vector<std::vector<int>>& texts) {
  WatchedRig fresh({"autoregressive", ""}, static_cast<int>(texts.size()));
  std::vector<int> ids(texts.size());
  std::iota(ids.begin(), ids.end(), 0);
  fresh.generator.join(texts, ids);
  return fresh.method.logits(fresh.rig);
}

// Drafts of each row's path, the root left out; empty for the root and for rows that are no candidates.
std::vector<std::vector<int>> paths_of(const std::vector<int>& tokens, const std::vector<int>& parents) {
  std::vector<std::vector<int>> paths(tokens.size());
  for (std::size_t r = 1; r < tokens.size(); ++r) {
    if (parents[r] < 0) continue;
    paths[r] = paths[static_cast<std::size_t>(parents[r])];
    paths[r].push_back(tokens[r]);
  }
  return paths;
}

// What a method drafts first behind a prompt.
std::vector<std::vector<int>> first_drafts(const Plan& plan) {
  WatchedRig w(plan, 1);
  w.generator.join({{3, 1, 4}}, {0});
  w.generator.step();
  Ops& ops = w.rig.decoder.ops;
  const auto paths = paths_of(w.method.tokens(ops), w.method.parents(ops));
  return {paths.begin() + 1, paths.end()};
}

}  // namespace

TEST_CASE("each candidate that a method drafts is judged by the logits of its path run alone", "[contract]") {
  for (const methods::Entry& e : methods::all())
    for (const Plan& plan : plans_of(e)) {
      INFO(plan.method << plan.parameters);
      WatchedRig w(plan, 2);
      Ops& ops = w.rig.decoder.ops;
      w.generator.join({{3, 1, 4}, {1, 5}}, {0, 1});
      for (int step = 0; step < 3; ++step) {  // the later ones behind a ragged commit
        const auto committed = w.generator.session().text;
        w.generator.step();
        const auto tokens = w.method.tokens(ops), parents = w.method.parents(ops);
        const auto judged = w.method.logits(w.rig);
        std::vector<std::vector<int>> texts;
        std::vector<std::size_t> rows;
        std::ptrdiff_t first = 0;
        for (std::size_t b = 0; b < 2; ++b) {
          const int n = w.method.rows()[b];
          const std::vector<int> mine(tokens.begin() + first, tokens.begin() + first + n),
              above(parents.begin() + first, parents.begin() + first + n);
          const auto paths = paths_of(mine, above);
          REQUIRE(mine[0] == committed[b].back());
          for (std::size_t r = 0; r < paths.size(); ++r) {
            if (r > 0 && paths[r].empty()) continue;
            texts.push_back(committed[b]);
            texts.back().insert(texts.back().end(), paths[r].begin(), paths[r].end());
            rows.push_back(static_cast<std::size_t>(first) + r);
          }
          first += n;
        }
        const auto alone = logits_behind(texts);
        const std::size_t v = alone.size() / texts.size();
        float difference = 0;
        for (std::size_t i = 0; i < rows.size(); ++i)
          for (std::size_t c = 0; c < v; ++c)
            difference = std::max(difference, std::abs(judged[rows[i] * v + c] - alone[i * v + c]));
        CHECK(difference < 1e-4F);  // fp32, another order of rows: logits of size 1
      }
    }
}

TEST_CASE("a drafter's candidates depend on their own path only, whatever branches stand beside it") {
  // Each leaf's path drafted in a bushy tree, and as a tree of its own.
  struct Case {
    const char *method, *more;
  };
  for (const Case c :
       {Case{"eagle1", ""}, Case{"mcsd", R"("draft": "half", )"}, Case{"sequoia", R"("draft": "half", )"}}) {
    INFO(c.method);
    const auto drafts = [&](const std::string& nodes) {
      return first_drafts({c.method, std::string(", ") + c.more + R"("tree": {"nodes": )" + nodes + "}"});
    };
    const auto bushy = drafts("[[0], [1], [2], [0, 0], [0, 1], [1, 0], [2, 1], [0, 1, 0], [1, 0, 0], [1, 0, 0, 1]]");
    const std::set<std::vector<int>> all(bushy.begin(), bushy.end());
    CHECK(all.size() == 10);
    for (const char* alone :
         {"[[0], [0, 0]]", "[[0], [0, 1], [0, 1, 0]]", "[[1], [1, 0], [1, 0, 0], [1, 0, 0, 1]]", "[[2], [2, 1]]"})
      for (const auto& path : drafts(alone)) CHECK(all.contains(path));
  }
}

TEST_CASE("a dynamic tree of n drafts is the one of n - 1 drafts and one more, a chain's first draft among them") {
  for (const char* method : {"eagle2", "hass", "eagle3"}) {
    INFO(method);
    const auto plan = [&](const std::string& text) { return Plan{method, ", " + text}; };
    std::set<std::vector<int>> before;
    for (int n = 1; n <= 12; ++n) {
      const auto drafts =
          first_drafts(plan(R"("tree": {"top_k": 3, "passes": 1, "nodes": )" + std::to_string(n) + "}"));
      const std::set<std::vector<int>> now(drafts.begin(), drafts.end());
      REQUIRE(now.size() == static_cast<std::size_t>(n));
      CHECK(std::includes(now.begin(), now.end(), before.begin(), before.end()));
      if (n == 1) CHECK(drafts[0] == first_drafts(plan(R"("draft_length": 1)"))[0]);
      before = now;
    }
    const auto chain = first_drafts(plan(R"("draft_length": 2)"));
    CHECK(before.contains(chain[1]));
  }
}

TEST_CASE("where no level is cut, a dynamic tree is the best-first tree of all candidates") {
  // A drafter whose next token depends on the last one only: target.logits(target.embed(token)).
  constexpr int kTop = 3, kLevels = 3, kVocabulary = 12;
  Rig rig({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  Ops& ops = rig.decoder.ops;
  ops.on_segment = {};
  const Transformer& t = rig.decoder.target;
  std::vector<int> every(kVocabulary);
  std::iota(every.begin(), every.end(), 0);
  const Tensor table = ops.persistent("table of logits", kVocabulary, kVocabulary, DType::fp32);
  ops.store(table, t.logits(ops, t.embed(ops, ops.constant(every))));
  ops.flush();
  const auto logits = rig.cpu().read_floats(table);

  struct Candidate {
    double score;
    std::vector<int> path;
  };
  const std::vector<int> root{5};
  std::vector<Candidate> all, level{{0, {}}};
  for (int depth = 0; depth < kLevels; ++depth) {
    std::vector<Candidate> next;
    for (const Candidate& c : level) {
      const int last = c.path.empty() ? root[0] : c.path.back();
      const float* row = logits.data() + last * kVocabulary;
      double sum = 0;
      for (int v = 0; v < kVocabulary; ++v) sum += std::exp(static_cast<double>(row[v]));
      std::vector<int> order(every);
      std::sort(order.begin(), order.end(), [&](int a, int b) { return row[a] > row[b]; });
      for (int rank = 0; rank < kTop; ++rank) {
        const int token = order[static_cast<std::size_t>(rank)];
        Candidate child{c.score + static_cast<double>(row[token]) - std::log(sum), c.path};
        child.path.push_back(token);
        next.push_back(std::move(child));
      }
    }
    all.insert(all.end(), next.begin(), next.end());
    level = std::move(next);
  }
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.score > b.score; });

  for (const std::size_t drafts : {1U, 4U, 11U, 25U, 39U}) {
    const Tensor start = ops.input("root", root);
    Tensor token = start, score = ops.constant({0}), node = ops.constant({-1}), tree_mask = ops.constant({0});
    std::vector<Tensor> tokens, scores, parents;
    for (int depth = 0, width = 1, first = 0; depth < kLevels; ++depth) {
      const ExpandTree e = ops.expand_tree(ops.top_k(t.logits(ops, t.embed(ops, token)), kTop),
                                           {score, node, tree_mask}, {width, width * kTop, first, 0});
      tokens.push_back(e.tokens);
      scores.push_back(e.scores);
      parents.push_back(e.parents);
      token = e.token, score = e.next_score, node = e.next_node, tree_mask = e.next_tree_mask;
      first += width * kTop;
      width *= kTop;
    }
    const int rows = static_cast<int>(drafts) + 1;
    const SelectTree tree = ops.select_tree(tokens, scores, parents, start, rows);
    const Tensor y = ops.persistent("y", rows, 1, DType::int32),
                 parent = ops.persistent("parent", rows, 1, DType::int32);
    ops.store(y, tree.y);
    ops.store(parent, tree.parent);
    const auto chosen = ops.fetch(y), above = ops.fetch(parent);
    const auto paths = paths_of(chosen, above);
    const std::set<std::vector<int>> selected(paths.begin() + 1, paths.end());
    std::set<std::vector<int>> best;
    for (std::size_t i = 0; i < drafts; ++i) best.insert(all[i].path);
    CHECK(selected == best);
  }
}
