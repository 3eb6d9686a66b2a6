// SPDX-License-Identifier: Apache-2.0
// Windows in prices: pairs and keys by hand, a step's price as a function of the context, means over an output.
#include "decoder/pass_span.h"
#include "model/devices/memory.h"
#include "predict/mean_contexts.h"
#include "sim/kv_block_manager.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

// Pairs and keys of rows one by one.
Span counted(int rows, int old, Window window) {
  Span s;
  for (int i = 0; i < rows; ++i) s.pairs += old + i - window.first_key(old + i) + 1;
  s.keys = old + rows - window.first_key(old);
  return s;
}

}  // namespace

TEST_CASE("a row sees min(context, window) keys, or those of its chunk") {
  constexpr Window sliding{4}, chunk{4, true};
  static_assert(Window{}.first_key(9) == 0);
  static_assert(sliding.first_key(2) == 0 && sliding.first_key(3) == 0 && sliding.first_key(9) == 6);
  static_assert(chunk.first_key(3) == 0 && chunk.first_key(4) == 4 && chunk.first_key(9) == 8);
  CHECK(span_of({.rows = 1}, 2, sliding) == Span{3, 3});
  CHECK(span_of({.rows = 1}, 100, sliding) == Span{4, 4});
  CHECK(span_of({.rows = 1}, 100, chunk) == Span{1, 1});  // the first token of a chunk
  CHECK(span_of({.rows = 3}, 2, sliding) == Span{3 + 4 + 4, 5});
  CHECK(span_of({.rows = 8}, 0, chunk) == Span{2 * (1 + 2 + 3 + 4), 8});
  CHECK(span_of({.rows = 0}, 9, sliding) == Span{});
}

TEST_CASE("pairs and keys of many rows are those of each row") {
  const Window window{GENERATE(1, 5, 64), GENERATE(false, true)};
  for (const int rows : {1, 2, 7, 100})
    for (const int old : {0, 1, 4, 5, 63, 64, 65, 1000}) {
      INFO(rows << " rows behind " << old << ", a window of " << window.tokens << (window.chunked ? ", chunked" : ""));
      CHECK(span_of({.rows = rows}, old, window) == counted(rows, old, window));
      CHECK(span_of({.rows = rows, .tail = 2}, old, window) == counted(rows, old + 2, window));
    }
}

TEST_CASE("rows that choose their tokens see no more than they may choose, and read no token twice") {
  constexpr Window best{.tokens = 4, .chosen = true};
  CHECK(span_of({.rows = 1}, 2, best) == Span{3, 3});
  CHECK(span_of({.rows = 1}, 100, best) == Span{4, 4});
  CHECK(span_of({.rows = 3}, 2, best) == Span{3 + 4 + 4, 5});  // of the five that there are
  CHECK(span_of({.rows = 3}, 100, best) == Span{12, 12});      // each chooses others, at most
  CHECK(span_of({.rows = 3, .tail = 2, .masked = true}, 100, best) == Span{12, 12});
  CHECK(span_of({.rows = 8}, 0, best) == Span{1 + 2 + 3 + 4 * 5, 8});
}

TEST_CASE("under a mask all rows meet what the first uncommitted position would see, and the whole tail") {
  // 6 rows behind a tail of 2: 4 - 1 committed keys in a window of 4, and 8 of the tail, for each row.
  CHECK(span_of({.rows = 6, .tail = 2, .masked = true}, 100, {4}) == Span{6 * (3 + 8), 3 + 8});
  CHECK(span_of({.rows = 6, .masked = true}, 100, {}) == Span{6 * 106, 106});
}

TEST_CASE("a ring is read whole, and the rows behind it are causal") {
  constexpr Window ring{.tokens = 10, .ring = true, .sinks = 2};
  static_assert(ring.first_key(100) == 0 && ring.held(7) == 7 && ring.held(100) == 10);
  static_assert(ring.entry(9) == 9 && ring.entry(10) == 2 && ring.entry(17) == 9 && ring.entry(18) == 2);
  CHECK(span_of({.rows = 1, .tail = 3}, 7, ring) == Span{11, 11});
  CHECK(span_of({.rows = 1, .tail = 3}, 1000, ring) == Span{14, 14});
  CHECK(span_of({.rows = 2}, 1000, ring) == Span{11 + 12, 12});
  // It fills at 10, from where on nothing grows: (10 * 5 + 90 * 10) / 100.
  double mean = 0;
  for (const auto& [context, weight] : mean_contexts(0, 102, std::vector{ring}))
    mean += weight * std::min(context, 10.0);
  CHECK(mean == Approx(9.5));
}

TEST_CASE("a mean over an output is taken on each side of where a window fills") {
  const std::vector<Window> windows{{101}};  // full with the row itself
  double mean = 0, weights = 0;
  for (const auto& [context, weight] : mean_contexts(50, 202, windows)) {
    mean += weight * std::min(context, 100.0);
    weights += weight;
  }
  CHECK(weights == Approx(1));
  CHECK(mean == Approx((50 * 75 + 150 * 100) / 200.0));  // from 50 to 100, then 100, to 250
  CHECK(mean_contexts(150, 202, windows).size() == 3);   // it is full already
  // A saw of three teeth and a half: 0 .. 10 each, then 0 .. 5.
  mean = 0;
  for (const auto& [context, weight] : mean_contexts(0, 37, std::vector<Window>{{10, true}}))
    mean += weight * (context - 10 * std::floor(context / 10));
  CHECK(mean == Approx((3 * 10 * 5 + 5 * 2.5) / 35.0));
  CHECK(mean_contexts(0, 1 << 30, std::vector<Window>{{1, true}}).size() < 1000);
}

TEST_CASE("a sequence keeps all tokens in layers that see all, and a window's in the others") {
  // Gemma 3 27B: 10 of 62 layers see all; of 9000 tokens the others keep 1024.
  const KeptTokens kept{{{1024, 52.0 / 62}}};
  CHECK(kept(1000) == 1000);
  CHECK(kept(9000) == Approx((10 * 9000 + 52 * 1024) / 62.0));
}

TEST_CASE("a pool of KV blocks holds longer texts where layers keep a window alone") {
  SchedulerLimits limits;
  limits.kv_blocks = 100;
  limits.kept = {{{64, 0.5}}};  // half of the layers
  CHECK(limits.blocks_for(64) == 4);
  CHECK(limits.blocks_for(1000) == 34);  // 500 + 32 tokens of all layers
  KvBlockManager blocks(limits);
  Sequence s;
  REQUIRE(blocks.allocate_up_to(s, 1000));
  CHECK(s.kv_blocks == 34);
  s.prefill_tokens = 1000;
  RunningBatch running;
  running.join(s);
  REQUIRE(blocks.extend(running, 56));  // 528 + 32 tokens
  CHECK(running.kv_blocks()[0] == 35);
  CHECK(blocks.free_blocks() == 65);
  Sequence last = running.remove_last();
  blocks.release(last);
  CHECK(blocks.free_blocks() == 100);
}

// The round device and engine of hand_count_test, and the round network twice over, its first layer with a window.
static Prediction round_windows(int prompt, const std::string& more) {
  const std::string folder = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/";
  return prediction(R"({"device": ")" + folder + R"(round_device.json", "engine": ")" + folder +
                    R"(round_engine.json", "transformer": {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2,
      "head_dim": 16, "intermediate": 128, "vocabulary": 1000, "window": 40, "full_attention_every": 2},
      "output_tokens": 22, "batch_size": 1, "prompt_tokens": )" +
                    std::to_string(prompt) + ", " + more + "}");
}

TEST_CASE("a step reads a window's keys in layers that have one, and memory holds no more of them") {
  const double products = 2e-9 * (2 * (8192 + 4096 + 16384 + 8192) + 64000), key = 2e-9 * 2 * 2 * 16;
  const double index = 2 * 4e-9 * (3 + 1);  // row starts, places and lengths, for each layer's attention
  const std::string plain = R"("method": {"name": "autoregressive"})";
  // Over 90 to 110 committed tokens, 100 on average; the newest key is still in L2, and the window has 39 others.
  const Prediction late = round_windows(90, plain);
  CHECK(late.breakdown.of(Phase::verify).value == Approx(products + (100 + 39) * key + index).epsilon(1e-6));
  // From 30 to 50 the window fills at 39: (9 * 34.5 + 11 * 39) / 20 keys on average.
  const Prediction early = round_windows(30, plain);
  CHECK(early.breakdown.of(Phase::verify).value == Approx(products + (40 + 36.975) * key + index).epsilon(1e-6));
  CHECK(late.memory.cache.value == (8 + 3) * 16 * 128);  // 113 tokens, and 41 of the window, in blocks of 16
}

TEST_CASE("drafts over a compressed cache cost and take as much at any context; verification and prompts don't") {
  const std::string draft = R"(, "draft_length": 3, "budget": 64, "acceptance": {"rate": 0.8}})";
  for (const std::string name : {R"("magicdec_streaming")", R"("magicdec_snapkv")"}) {
    INFO(name);
    const std::string method = R"("method": {"name": )" + name + draft;
    const Prediction at_200 = round_windows(200, method), at_1200 = round_windows(1200, method);
    CHECK(at_1200.breakdown.of(Phase::draft).value == Approx(at_200.breakdown.of(Phase::draft).value).epsilon(1e-9));
    // The layer without a window reads 1000 entries more: 2 KV heads of 16 columns, keys and values.
    const double entries = 1000 * 2e-9 * 2 * 2 * 16;
    CHECK((at_1200.breakdown.of(Phase::verify) - at_200.breakdown.of(Phase::verify)).value ==
          Approx(entries).epsilon(1e-6));
    CHECK(at_200.memory.draft_cache.value == at_1200.memory.draft_cache.value);
    CHECK(at_200.memory.draft_cache.value == 5 * 16 * 128);  // 64 entries and 4 of a step, in blocks of 16
  }
  // Beyond a budget that holds the whole text, drafts read what a draft of the whole context does.
  const auto drafts = [&](int budget, int prompt) {
    return round_windows(prompt, R"("method": {"name": "magicdec_streaming", "draft_length": 3, "budget": )" +
                                     std::to_string(budget) + R"(, "acceptance": {"rate": 0.8}})")
        .breakdown.of(Phase::draft)
        .value;
  };
  CHECK(drafts(4096, 200) == Approx(drafts(8192, 200)).epsilon(1e-9));
  CHECK(drafts(4096, 200) > drafts(64, 200));
}

}  // namespace draftline
