// SPDX-License-Identifier: Apache-2.0
#include "sim/step_table.h"

#include "tests/inputs/scenario_text.h"

namespace draftline {

static Ticks longer(const StepCost::Line& line, StepCost::Prompts prompts) {
  return line.longer(prompts.device, prompts.host);
}

TEST_CASE("the price of a prompt by chunks adds up to the price of the whole") {
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  const Document names =
      Document::from_text(R"({"device": "h100-sxm", "engine": "draftline", "transformer": "llama-3.1-8b"})", "names");
  const auto device = catalogue.device(names.root().at("device"));
  const auto engine = catalogue.engine(names.root().at("engine"));
  const auto transformer = catalogue.transformer(names.root().at("transformer"));
  const MethodChoice& method = autoregressive();
  const Setup setup{device, engine, transformer, Precision(DType::bf16), {}, 1, 512, 256};
  StepTable table(pricer, setup, {&method}, method);
  const auto alone = [&](std::vector<Chunk> chunks) {
    const StepCost::Line line = table.decode({});
    return line.at(0) + longer(line, table.prefill({}, chunks));
  };
  // At its nodes it is what the predictor says of a whole prompt.
  for (const int tokens : {16, 128, 1024, 4096}) {
    INFO(tokens);
    const double exact = pricer.of(setup, method)->prompt_price(tokens, tokens)(0).value;
    CHECK(to_seconds(alone({{tokens, 0}})).value == Approx(exact).epsilon(1e-6));
  }
  // A step with both lies between the larger of its parts and their sum.
  for (const int n : {1, 8, 64})
    for (const int tokens : {64, 300, 2000}) {
      INFO(n << " sequences, a chunk of " << tokens);
      const StepCost::Line line = table.decode({n, 0, n * 1000});
      const Chunk chunk{tokens, 500};
      const Ticks decode = line.at(n * 1000),
                  both = decode + longer(line, table.prefill({n, 0, n * 1000}, {&chunk, 1}));
      CHECK(both >= decode);
      CHECK(static_cast<double>(both) >= 0.98 * static_cast<double>(alone({chunk})));
      CHECK(both <= decode + alone({chunk}));
    }
  // A line is the predictor's step at its ends.
  const StepCost::Line line = table.decode({4, 0, 4 * 700});
  Setup four = setup;
  four.batch_size = 4;
  const StepPrice exact = pricer.step_price(four, method);
  for (const std::int64_t context : {line.from, line.to})
    CHECK(to_seconds(line.at(context)).value == Approx(exact(static_cast<double>(context) / 4).value).epsilon(1e-6));
  CHECK(to_seconds(line.at(4 * 700)).value == Approx(exact(700).value).epsilon(1e-3));
}

TEST_CASE(
    "beside a prompt's chunk FlashAttention 2 walks over a decoding row's context alone, FlashAttention 3 does not") {
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  const auto more = [&](const std::string& name, std::int64_t context) {
    const Document names = Document::from_text(
        R"({"device": ")" + name + R"(", "engine": "vllm", "transformer": "llama-3.1-8b"})", "names");
    const auto device = catalogue.device(names.root().at("device"));
    const auto engine = catalogue.engine(names.root().at("engine"));
    const auto transformer = catalogue.transformer(names.root().at("transformer"));
    Setup setup{device, engine, transformer, {}, {}, 1, 512, 256};
    StepTable table(pricer, setup, {&autoregressive()}, autoregressive());
    const Chunk chunk{64, 0};
    return to_seconds(table.prefill({1, 0, context}, {&chunk, 1}).device).value;
  };
  // 32 layers, 16384 keys at 16 ns each: 8.6 ms, less what the row takes where its context is split.
  const double walk = 32 * 16384 * 16e-9;
  CHECK(more("l40s", 16384) - more("l40s", 16) > 0.7 * walk);
  CHECK(more("l40s", 16384) - more("l40s", 16) < 1.1 * walk);
  CHECK(more("h100-sxm", 16384) == more("h100-sxm", 16));
}

TEST_CASE("beside look-ups that seldom find something a chunk of a mixture's prompt is no faster than alone") {
  const auto sweep = ScenarioText(R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19",
    "method": {"name": "prompt_lookup", "draft_length": 16, "acceptance": {"rate": 0.5, "hit_share": 0.02}}})")
                         .sweep();
  const MethodChoice& method = sweep->scenario().method(Point{});
  StepTable table(sweep->pricer(), sweep->setup({}), {&autoregressive(), &method}, method);
  const Chunk chunk{500, 0};
  const auto with_chunk = [&](int sequences, int drafts) {
    const StepCost::Line line = table.decode({sequences, drafts, sequences * 500});
    return line.at(sequences * 500) + longer(line, table.prefill({sequences, drafts, sequences * 500}, {&chunk, 1}));
  };
  CHECK(with_chunk(4, 1) > with_chunk(0, 0));
}

TEST_CASE("a step with prompts is a graph up to the engine's number of rows, beyond it its kernels are launched") {
  const auto sweep = ScenarioText(R"({"device": "h100-sxm", "transformer": "llama-3.2-1b", "engine": "vllm-0.19",
    "method": {"name": "autoregressive"}})")
                         .sweep();
  const Setup setup = sweep->setup({});
  REQUIRE(setup.engine->prompt_graphs == 512);
  const MethodChoice& method = autoregressive();
  StepTable table(sweep->pricer(), setup, {&method}, method);
  const auto with_chunk = [&](int sequences, int tokens) {
    const StepCost::Line line = table.decode({sequences, 0, sequences * 500});
    const Chunk chunk{tokens, 0};
    return to_seconds(line.at(sequences * 500) +
                      longer(line, table.prefill({sequences, 0, sequences * 500}, {&chunk, 1})));
  };
  for (const int tokens : {32, 512, 1024}) {
    INFO(tokens);
    const double exact = sweep->pricer().of(setup, method)->prompt_price(tokens, tokens)(0).value;
    CHECK(with_chunk(0, tokens).value <= exact);  // which has its last kernels behind all launches
    CHECK(with_chunk(0, tokens).value > 0.88 * exact);
  }
  const Seconds launched = sweep->pricer().of(setup, method)->prompt_price(1024, 1024).host_alone();
  CHECK(with_chunk(1, 511) < launched);
  CHECK(with_chunk(1, 512) > 0.99 * launched);  // but for the launch of a graph
  CHECK(with_chunk(13, 500) > 0.99 * launched);
}

TEST_CASE("a prompt just behind the longest one whose latent attention is absorbed costs what the predictor says") {
  for (const auto& [cache, longest] : {std::pair("bf16", 512), std::pair("fp8", 128)}) {
    const auto sweep = ScenarioText(R"({"device": "h200", "transformer": "deepseek-v3", "engine": "vllm-0.19",
      "precision": {"weights": "fp8", "kv_cache": ")" +
                                    std::string(cache) + R"("}, "tensor_parallel": 8,
      "method": {"name": "autoregressive"}})")
                           .sweep();
    const Setup setup = sweep->setup({});
    const MethodChoice& method = autoregressive();
    StepTable table(sweep->pricer(), setup, {&method}, method);
    for (const int tokens : {longest, longest + 1, longest + 5}) {
      INFO(tokens << " tokens, a cache of " << cache);
      const Chunk chunk{tokens, 0};
      const StepCost::Line line = table.decode({});
      const double exact = sweep->pricer().of(setup, method)->prompt_price(tokens, tokens)(0).value;
      CHECK(to_seconds(line.at(0) + longer(line, table.prefill({}, {&chunk, 1}))).value ==
            Approx(exact).epsilon(0.015));  // where kernels are launched, the device waits for the first of them
    }
  }
}

TEST_CASE("handing a step on to the next stage of a pipeline waits for no other rank") {
  const auto step = [](double skew, int stages) {
    const auto sweep = ScenarioText(with("")).sweep();
    Setup setup = sweep->setup({});
    Engine e = *setup.engine;
    e.links.rank_skew = Seconds{skew};
    setup.engine = outliving(e);
    StepTable table(sweep->pricer(), setup, {&autoregressive()}, autoregressive(), stages);
    return table.decode({1, 0, 0}).start;
  };
  CHECK(step(0, 4) > step(0, 1));
  CHECK(step(1e-3, 4) == step(0, 4));
}

}  // namespace draftline
