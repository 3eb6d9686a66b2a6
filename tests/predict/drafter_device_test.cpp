// SPDX-License-Identifier: Apache-2.0
// A drafter on a device of its own: what its steps cost, where its memory lies, and what is refused.
#include "predict/prediction.h"
#include "sim/capacity.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

// A method with a draft network, `rate` of whose drafts are right; on an own device unless `own` is "".
std::string drafting(const std::string& name, const std::string& own, const std::string& more = R"("draft_length": 4)",
                     double rate = 0.8) {
  return R"({"name": ")" + name + R"(", "draft": "llama-3.2-1b", )" + more + R"(, "acceptance": {"rate": )" +
         std::to_string(rate) + "}" + (own.empty() ? "" : R"(, "drafter_device": )" + own) + "}";
}
const std::string kNear = R"({"device": "h100-sxm", "latency": "0 s"})";
std::string at_latency(const std::string& latency, const std::string& more = "") {
  return R"({"device": "h100-sxm", "latency": ")" + latency + R"(")" + more + "}";
}
std::string mistakes_of(const std::string& method, const std::string& more = "") {
  return ScenarioText(with(more, method)).mistakes();
}

}  // namespace

TEST_CASE("where drafts await the verdict, both devices take turns, and two messages pass between them") {
  const Prediction local = prediction(with_method(drafting("draft_model", ""))),
                   near = prediction(with_method(drafting("draft_model", kNear)));
  // The same kernels run, on the one device or on the other.
  CHECK(near.breakdown.of(Phase::draft).value == Approx(local.breakdown.of(Phase::draft).value).epsilon(0.02));
  CHECK(near.breakdown.of(Phase::verify).value == Approx(local.breakdown.of(Phase::verify).value).epsilon(0.02));
  CHECK(near.acceptance_length == local.acceptance_length);
  CHECK(near.breakdown.communication() == Seconds{});
  const auto longer = [&](const std::string& own) {
    const Prediction far = prediction(with_method(drafting("draft_model", own)));
    CHECK(far.breakdown.communication().value == Approx((far.step_time - near.step_time).value));
    return (far.step_time - near.step_time).value;
  };
  CHECK(longer(at_latency("1 ms")) == Approx(2e-3));
  // 4 drafts up and 5 tokens down, of 4 bytes each: 36 bytes.
  CHECK(longer(at_latency("0 s", R"(, "bandwidth": "1 kB/s")")) == Approx(36e-3));
}

TEST_CASE("where it drafts ahead, a step is as long as the longer side, and both messages pass at once") {
  const auto at = [](const std::string& own, double rate = 0.8) {
    return prediction(with_method(drafting("pearl", own, R"("draft_length": 4)", rate)));
  };
  const Prediction near = at(kNear);
  CHECK((at(at_latency("1 ms")).step_time - near.step_time).value == Approx(1e-3));
  // 4 drafts one way while at most 4 tokens go the other: 16 bytes.
  CHECK((at(at_latency("0 s", R"(, "bandwidth": "1 kB/s")")).step_time - near.step_time).value == Approx(16e-3));
  CHECK(near.acceptance_length == Approx(DraftAhead::alike(0.8, 4).mean_length()));

  // An 8B target on an H100 waits for no 1B drafter beside it: the step is a step of verification, and the drafter
  // idles.
  const Prediction fast = at(kNear, 1);
  CHECK(fast.breakdown.of(Phase::draft) == Seconds{});
  CHECK(fast.breakdown.of(Phase::verify).value > 0);
  CHECK(fast.drafter->busy < 1);
  CHECK(fast.verified_rows == 4);
  // One on an L4, of a tenth of the bandwidth: the target waits for it.
  const Prediction slow = at(R"({"device": "l4", "latency": "0 s"})", 1);
  CHECK(slow.breakdown.of(Phase::verify) == Seconds{});
  CHECK(slow.breakdown.of(Phase::draft).value > 0);
  CHECK(slow.drafter->busy == Approx(1).epsilon(0.01));
  // On one device the two follow each other, and it takes about the sum of both.
  const Prediction one = at("", 1);
  CHECK(!one.drafter.has_value());
  CHECK(one.step_time > fast.step_time + 0.9 * (fast.drafter->busy * fast.step_time));
}

TEST_CASE("where drafts are prepared for outcomes, a step is as long as the longer side and two messages") {
  const auto at = [](const std::string& own, double hits = 0.8) {
    return prediction(with_method(
        R"({"name": "ssd", "draft": "llama-3.2-1b", "draft_length": 2, "acceptance": {"rate": 0.8, "hit_share": )" +
        std::to_string(hits) + "}" + (own.empty() ? "" : R"(, "drafter_device": )" + own) + "}"));
  };
  const Prediction near = at(kNear);
  CHECK((at(at_latency("1 ms")).step_time - near.step_time).value == Approx(2e-3));
  CHECK(near.acceptance_length == Approx(1 + 0.8 * (iid_chain_length(0.8, 2) - 1)));
  CHECK(near.verified_rows == 3);

  // An 8B target on an H100 verifies for longer than a 1B network beside it needs for three passes, but an L4 needs
  // longer, with and without hits.
  const std::string l4 = R"({"device": "l4", "latency": "0 s"})";
  const Prediction fast = at(kNear, 1), slow = at(l4, 1);
  CHECK(fast.breakdown.of(Phase::draft) == Seconds{});
  CHECK(fast.breakdown.of(Phase::verify).value > 0);
  CHECK(fast.drafter->busy < 1);
  CHECK(slow.breakdown.of(Phase::verify) == Seconds{});
  CHECK(slow.drafter->busy == Approx(1).epsilon(0.01));
  CHECK(at(l4, 0).step_time.value == Approx(slow.step_time.value).epsilon(0.01));
  CHECK(at(kNear, 0).step_time < fast.step_time);  // the target computes the root alone
  // On one device the two follow each other.
  const Prediction one = at("", 1);
  CHECK(one.step_time > fast.step_time + 0.9 * (fast.drafter->busy * fast.step_time));
}

TEST_CASE("the draft network's cache has room for what it prepares") {
  const auto cache = [](int drafts, int fan_out) {
    return prediction(with_method(R"({"name": "ssd", "draft": "llama-3.2-1b", "draft_length": )" +
                                  std::to_string(drafts) + R"(, "fan_out": )" + std::to_string(fan_out) +
                                  R"(, "acceptance": {"rate": 0.8, "hit_share": 1}, "drafter_device": )" + kNear + "}"))
        .drafter->memory.draft_cache;
  };
  // 768 tokens and (K + 1) (1 + K F) rows in blocks of 16, of 32 KiB each: 6, and 13 x 145 = 1885.
  CHECK(cache(2, 1).value == (768 + 16) * 32768.0);
  CHECK(cache(12, 12).value == (768 + 1888) * 32768.0);
}

TEST_CASE("outcomes without a hit share are not priced as if all were prepared in silence") {
  const auto warnings = [](const std::string& acceptance) {
    return prediction(with_method(R"({"name": "ssd", "draft": "llama-3.2-1b", "draft_length": 4, "acceptance": )" +
                                  acceptance + "}"))
        .warnings;
  };
  const std::string unknown =
      "ssd finds no draft in some steps, and \"acceptance\" has no \"hit_share\": every step is "
      "priced "
      "with all 4 drafts";
  CHECK(std::ranges::count(warnings(R"({"rate": 0.8})"), unknown) == 1);
  CHECK(std::ranges::count(warnings(R"({"rate": 0.8, "hit_share": 1})"), unknown) == 0);
}

TEST_CASE("a batch whose windows are partly lost verifies fewer rows") {
  const auto at = [](double rate) {
    return prediction(with(R"("batch_size": 64)", drafting("pearl", kNear, R"("draft_length": 8)", rate)));
  };
  const Prediction none = at(0), some = at(0.7), all = at(1);
  CHECK(none.acceptance_length == 1);
  CHECK(all.acceptance_length == 8);
  CHECK(none.step_time < some.step_time);
  CHECK(some.step_time < all.step_time);
}

TEST_CASE("the drafter's weights and cache lie on its own device, and have to fit there") {
  const Prediction local = prediction(with_method(drafting("draft_model", ""))),
                   near = prediction(with_method(drafting("draft_model", kNear)));
  CHECK(near.memory.draft_weights == Bytes{});
  CHECK(near.memory.draft_cache == Bytes{});
  CHECK(near.drafter->memory.draft_weights == local.memory.draft_weights);
  CHECK(near.drafter->memory.draft_weights.value == 2 * 1235814400.0);  // a 1B network in 16 bits
  CHECK(near.drafter->memory.draft_cache == local.memory.draft_cache);
  CHECK(near.memory.weights + near.memory.cache + near.drafter->memory.draft_weights +
            near.drafter->memory.draft_cache + near.memory.activations ==
        local.memory.total());
  // 32 KiB of keys and values a token: 400 x 784 slots are 10.3 GB beside 2.5 GB of weights. An RTX 3060 has 12.9 GB,
  // of which 11.6 may be used.
  const std::string mistakes =
      mistakes_of(drafting("draft_model", R"({"device": "rtx-3060", "latency": "1 us"})"), R"("batch_size": 400)");
  CHECK(contains(mistakes, "on the drafter's device, rtx-3060 has"));
}

TEST_CASE("what can't draft on a device of its own says why") {
  const auto refused = [](const std::string& what) { return "#/method/drafter_device: " + what; };
  CHECK(mistakes_of(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.8}, "drafter_device": )" + kNear +
                    "}") == refused("eagle3 has no separate draft network: its inputs, such as the target's hidden "
                                    "states, are on the target's device"));
  CHECK(mistakes_of(drafting("draft_model", kNear, R"("draft_length": 4, "shard_draft": true)")) ==
        refused("a drafter on its own device can't be divided among the target's devices: remove \"shard_draft\""));
  CHECK(contains(mistakes_of(drafting("draft_model", R"({"device": "h100-sxm"})")), "#/method/drafter_device"));
  CHECK(contains(mistakes_of(drafting("draft_model", R"("h100-sxm")")), "#/method/drafter_device: "));
  CHECK(contains(mistakes_of(drafting("draft_model", R"({"device": "h100-xsm", "latency": "1 us"})")),
                 "#/method/drafter_device/device: unknown"));
  CHECK(contains(mistakes_of(drafting("draft_model", at_latency("1 us", R"(, "link": 3)"))),
                 "#/method/drafter_device/link: unknown key"));
  CHECK(contains(mistakes_of(drafting("draft_model", at_latency("-1 us"))), "#/method/drafter_device/latency: "));
  // An A100 has no fp8 products: it would compute an fp8 drafter otherwise.
  CHECK(contains(mistakes_of(drafting("draft_model", R"({"device": "a100-sxm", "latency": "1 us"})"),
                             R"("precision": {"weights": "fp8", "draft": "fp8"})"),
                 "a100-sxm computes the draft network in another format than h100-sxm"));
}

TEST_CASE("acceptance of windows that are drafted ahead is read for all their drafts") {
  const auto pearl = [](const std::string& acceptance, const std::string& length = "3") {
    return R"({"name": "pearl", "draft": "llama-3.2-1b", "draft_length": )" + length + R"(, "acceptance": )" +
           acceptance + "}";
  };
  const auto tokens = [&](const std::string& acceptance) {
    return prediction(with_method(pearl(acceptance))).acceptance_length;
  };
  const double half = DraftAhead::alike(0.5, 3).mean_length();
  CHECK(tokens(R"({"rate": 0.5})") == half);
  CHECK(tokens(R"({"rates": [0.5, 0.5, 0.5, 0.9]})") == half);
  CHECK(tokens(R"({"ranks": [[0.5, 0.1], [0.5], [0.5]]})") == half);
  CHECK(tokens(R"({"mean_length": 1.5})") == Approx(1.5));
  const std::string at = "#/method/acceptance: ";
  CHECK(mistakes_of(pearl(R"({"rates": [0.5, 0.5]})")) == at + "fewer rates (2) than drafts in a window (3)");
  CHECK(
      starts_with(mistakes_of(pearl(R"({"mean_length": 3.5})")), at + "\"mean_length\" exceeds the longest possible"));
  CHECK(starts_with(mistakes_of(pearl(R"({"table": [{"context": 100, "rates": [0.5, 0.5, 0.5]}]})")),
                    at + "a table of rates does not apply to a method that drafts ahead"));
  CHECK(mistakes_of(pearl(R"({"rate": 0.5, "hit_share": 0.5})")) ==
        "#/method/acceptance/hit_share: pearl drafts in every step; only methods that look drafts up have a hit share");
  CHECK(mistakes_of(pearl(R"({"rate": 0.5})", "1")) ==
        "#/method/draft_length: a window that is drafted ahead has at least 2 drafts");
}

}  // namespace draftline
