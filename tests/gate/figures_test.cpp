// SPDX-License-Identifier: Apache-2.0
// Answers of any verb as figures by point.
#include "gate/figures.h"

#include "gate/renamed.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

// "batch_size 1: speed=2, skipped=null", a line for each point.
std::string flat(const Json& document) {
  std::string text;
  for (const PointFigures& p : figures_of(document)) {
    text += (text.empty() ? "" : "\n") + text_of(p.key) + ":";
    for (const auto& [name, value] : p.figures) text += " " + name + "=" + value.dump();
  }
  return text;
}

}  // namespace

TEST_CASE("a document of results is a point for each of them, named by its inputs; who answered is no figure") {
  const Json document = json(R"({"schema_version": 1, "commit": "c", "model": "m", "input_files": {"a": "f"},
    "question": {"verb": "run"}, "resolved": {"points": 2}, "results": [
      {"inputs": {"method": "eagle3", "draft_length": 3, "batch_size": 1},
       "speedup": {"value": 2.5, "unit": "", "kind": "predicted", "low": 2, "high": 3},
       "breakdown": {"draft": {"value": 0.5, "unit": "s", "kind": "predicted"}}},
      {"inputs": {"method": "autoregressive", "draft_length": null, "batch_size": 1}, "skipped": "needs 90 GiB"}]})");
  CHECK(flat(document) ==
        "method eagle3, draft_length 3, batch_size 1: speedup=2.5 speedup.low=2 speedup.high=3 breakdown.draft=0.5\n"
        "method autoregressive, batch_size 1: skipped=\"needs 90 GiB\"");
}

TEST_CASE("a single answer without a list of results is one point; wall times are no figures") {
  const Json document = json(R"({"schema_version": 1, "resolved": {}, "inputs": {"device": "h100-sxm"}, "steps": 7,
    "ttft": {"mean": {"value": 0.1, "unit": "s", "kind": "predicted"}}, "warnings": ["late"], "wall_time": 3,
    "prices_wall_time": 2})");
  CHECK(flat(document) == "device h100-sxm: steps=7 ttft.mean=0.1 warnings=\"[\\\"late\\\"]\"");
}

TEST_CASE("lists inside an answer are points of their own, below the point that holds them") {
  const Json document = json(R"({"results": [{"inputs": {"device": "h100-sxm"}, "pays": true,
    "batches": [{"batch_size": 1, "speedup": 2}, {"batch_size": 64, "speedup": 0.9}],
    "best_draft_lengths": [{"prompt_tokens": 512, "batch_size": 1, "draft_length": 4}], "empty": []}]})");
  CHECK(flat(document) ==
        "device h100-sxm: pays=true empty=\"[]\"\n"
        "device h100-sxm, batch_size 1: batches.speedup=2\n"
        "device h100-sxm, batch_size 64: batches.speedup=0.9\n"
        "device h100-sxm, prompt_tokens 512, batch_size 1: best_draft_lengths.draft_length=4");
}

TEST_CASE("elements that no name tells apart go by their position, and equal points by their order") {
  CHECK(flat(json(R"({"odd": [{"x": 1}, {"x": 2}]})")) == "odd 0: odd.x=1\nodd 1: odd.x=2");
  CHECK(flat(json(R"([{"inputs": {"b": 1}, "x": 1}, {"inputs": {"b": 1}, "x": 2}, {"inputs": {"b": 1}, "x": 3}])")) ==
        "b 1: x=1 x #2=2 x #3=3");
}

TEST_CASE("documents that no verb prints are figures all the same, never a crash") {
  for (const char* text : {"null", "7", "[]", "{}", "[1, 2]", R"([{"a": 1}, 2, "x"])", R"({"results": 3})",
                           R"({"results": [{"inputs": 5}]})", R"({"inputs": [1], "value": {"value": {"kind": 1}}})"}) {
    INFO(text);
    CHECK_NOTHROW(figures_of(json(text)));
  }
}

TEST_CASE("equal keys are equal whatever the order of their parts") {
  CHECK(identity_of({{"a", "1"}, {"b", "2"}}) == identity_of({{"b", "2"}, {"a", "1"}}));
  CHECK(identity_of({{"a", "1"}, {"b", "2"}}) != identity_of({{"a", "2"}, {"b", "1"}}));
}

TEST_CASE("selected figures are those named, those that begin so, or all") {
  const std::vector<PointFigures> points{{{{"b", "1"}}, {{"breakdown.draft", 1}, {"breakdown", 2}, {"speedup", 3}}},
                                         {{{"b", "2"}}, {{"other", 4}}}};
  const auto names = [&](const std::vector<std::string>& wanted) {
    std::string all;
    for (const PointFigures& p : selected(points, wanted))
      for (const auto& [name, value] : p.figures) all += name + " ";
    return all;
  };
  CHECK(names({"speedup"}) == "speedup ");
  CHECK(names({"breakdown."}) == "breakdown.draft ");
  CHECK(names({"all"}) == "breakdown.draft breakdown speedup other ");
  CHECK(names({"none"}).empty());
}

TEST_CASE("a figure's name is that of all points with equal keys") {
  const auto twins =
      figures_of(json(R"([{"inputs": {"b": 1}, "x": 1, "y": 2}, {"inputs": {"b": 1}, "x": 3, "y": 4}])"));
  const auto x = selected(twins, {"x"});
  REQUIRE(x.size() == 1);
  CHECK(x[0].figures == std::vector<std::pair<std::string, Json>>{{"x", 1}, {"x #2", 3}});
  CHECK(selected(twins, {"x #2"})[0].figures.size() == 1);
  CHECK(unnumbered("ttft.p99 #12") == "ttft.p99");
  CHECK(unnumbered("ttft.p99") == "ttft.p99");
}

TEST_CASE("a name that no point's figures have is told with the nearest that they have") {
  const std::vector<PointFigures> points{{{{"b", "1"}}, {{"breakdown.draft", 1}}},
                                         {{{"b", "2"}}, {{"utilization", 4}}}};
  CHECK(has_figure(points, dotted("breakdown/draft")));
  CHECK(has_figure(points, dotted("breakdown/")));
  CHECK(has_figure(points, "busy_share"));  // its name of before
  CHECK(has_figure(points, "all"));
  CHECK_FALSE(has_figure(points, "breakdown"));
  CHECK_FALSE(has_figure(points, "break"));
  CHECK(no_figure("utilisation", "in this output", points) ==
        "no figure \"utilisation\" in this output; did you mean \"utilization\"?");
  CHECK(no_figure("x", "at b 3", {}) == "no figure \"x\" at b 3");
}

TEST_CASE("a point is told by what differs, without long texts where the rest tells it") {
  const std::string long_text = R"({"rates":[0.8,0.7,0.6,0.5,0.4]})";
  const std::vector<PointKey> all{
      {{"device", "h100"}, {"method", "eagle3"}, {"acceptance", long_text}, {"batch", "1"}},
      {{"device", "h100"}, {"method", "eagle3"}, {"acceptance", long_text}, {"batch", "2"}},
      {{"device", "h100"}, {"method", "eagle3"}, {"acceptance", R"({"rate": 0.71234567890123456789})"}, {"batch", "2"}},
      {{"device", "h100"}, {"method", "medusa"}, {"acceptance", long_text}, {"batch", "1"}},
      {}};
  CHECK(text_of(distinguishing_parts(all[0], all, 60)) == "method eagle3, batch 1");
  CHECK(text_of(distinguishing_parts(all[2], all, 80)) ==
        "method eagle3, acceptance " + all[2][2].second + ", batch 2");
  CHECK(text_of(distinguishing_parts(all[3], {all[0], all[3]}, 60)) == "method medusa");
  CHECK(text_of(distinguishing_parts(all[0], {all[0], all[4]}, 60)) ==
        "device h100");  // all else is absent there, too: one part tells
  CHECK(distinguishing_parts(all[0], {all[0]}, 60).empty());
  // Too long: what isn't needed to tell it goes, the longest first.
  const std::vector<PointKey> wide{{{"transformer", "llama-3.1-8b"}, {"engine", "vllm-0.19"}, {"batch", "1"}},
                                   {{"transformer", "llama-2-7b"}, {"engine", "sglang-0.5"}, {"batch", "2"}}};
  CHECK(text_of(distinguishing_parts(wide[0], wide, 60)) == "transformer llama-3.1-8b, engine vllm-0.19, batch 1");
  CHECK(text_of(distinguishing_parts(wide[0], wide, 20)) == "batch 1");
}

TEST_CASE("what an older version wrote has the names of today, in answers and where figures are asked for") {
  const Json older = json(R"({"results": [{"inputs": {"batch_size": 1},
    "busy_share": {"value": 0.5, "unit": "", "kind": "predicted", "low": 0.4, "high": 0.6}, "host_share": 1,
    "kv_share": 2, "kv_share_peak": 3, "breakdown": {"host": 4, "verify": 5}, "host": 6,
    "batches": [{"batch_size": 8, "acceptance_length_needed": 7, "losses": {"products": 8, "host": 9}}]},
    {"inputs": {"batch_size": 1}, "busy_share": 0.7}]})");
  CHECK(flat(older) ==
        "batch_size 1: utilization=0.5 utilization.low=0.4 utilization.high=0.6 cpu_share=1 kv_utilization=2 "
        "kv_utilization_peak=3 breakdown.cpu=4 breakdown.verify=5 host=6 utilization #2=0.7\n"
        "batch_size 8: batches.break_even_acceptance_length=7 batches.losses.gemm=8 batches.losses.cpu=9");
  CHECK(selected(figures_of(older), {"busy_share", "breakdown.host"})[0].figures.size() == 3);  // with #2
  CHECK(current_name("my_busy_share") == "my_busy_share");
  CHECK(current_name("busy_share_of") == "busy_share_of");
  CHECK(current_name("set_apart") == "excluded");
  CHECK(flat(json(R"([{"inputs": {"max_batch_size": 4, "variation": 2}, "x": 1}])")) == "max_num_seqs 4, cv 2: x=1");
}
