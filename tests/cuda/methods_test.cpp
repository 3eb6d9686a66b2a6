// SPDX-License-Identifier: Apache-2.0
// Every method of the table on CUDA against the CPU, in fp32, where the same additions in another order seldom change a
// token of such small networks; graphs against single launches, which must agree to the bit.
#include <filesystem>
#include <set>

#include "model/engines/engine.h"
#include "tests/cuda/rig.h"
#include "tests/source_folder.h"

using namespace draftline;
using namespace draftline::test;

namespace {

// Products aren't timed: another algorithm in each run would be other bits, and a text that differs once in a while.
CudaBackend::Options fp32(bool graphs, std::uint64_t seed = 1) {
  return {.activations = DType::fp32, .graphs = graphs, .seed = seed, .poison = true, .timed_products = false};
}

void agree(const std::vector<Generated>& a, const std::vector<Generated>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].tokens == b[i].tokens);
    CHECK(a[i].accepted == b[i].accepted);
  }
}

// One plan of every method: what is tested of each plan elsewhere, or holds for the op and not for the plan.
std::vector<Plan> one_plan_each() {
  std::vector<Plan> plans;
  for (const methods::Entry& e : methods::all()) plans.push_back(plans_of(e).front());
  return plans;
}

}  // namespace

TEST_CASE("every method emits on CUDA the greedy text of the CPU in the same steps", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(3, 2);
  const Limits limits{5, {}, 2};
#ifdef NDEBUG
  const auto plans = all_plans();
#else
  const auto plans = one_plan_each();  // slow builds look for other mistakes
#endif
  for (const Plan& plan : plans) {
    INFO(label(plan));
    Rig cpu(plan, Rig::Kind::cpu_planned, 2);
    CudaRig cuda(plan, fp32(true), 2);
    agree(cpu.run(questions, limits), cuda.run(questions, limits));
    CHECK(cpu.decoder.ops.answers() == cuda.decoder.ops.answers());
    if (cuda.decoder.method->static_plan()) CHECK(cuda.cuda().counts().graph_launches > 0);
  }
}

TEST_CASE("sampled text on CUDA is the CPU's: the same random numbers meet the same distributions", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(2, 4);
  const Limits limits{6, {}, 2};
  const Sampling sampling{0.8, 0, 0.95};
  for (const Plan& plan : one_plan_each()) {
    INFO(label(plan));
    Rig cpu(plan, Rig::Kind::cpu_planned, 2, Network::qwen3, 0.15, sampling, 3);
    CudaRig cuda(plan, fp32(true, 3), 2, Network::qwen3, sampling);
    agree(cpu.run(questions, limits), cuda.run(questions, limits));
  }
}

TEST_CASE("graphs give the bits of single launches, in bf16 too", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(2, 6);
  const Limits limits{6, {}, 2};
  for (const Plan& plan : one_plan_each()) {
    INFO(label(plan));
    CudaRig eager(plan, {DType::bf16, false, 1, true, 512, false}, 2, Network::qwen2);
    CudaRig graphs(plan, {DType::bf16, true, 1, true, 512, false}, 2, Network::qwen2);
    agree(eager.run(questions, limits), graphs.run(questions, limits));
    CHECK(eager.cuda().counts().graph_launches == 0);
    for (const Tensor& t : {graphs.decoder.generator.session().root})
      CHECK(eager.cuda().read(t) == graphs.cuda().read(t));
  }
}

TEST_CASE("experts, latent attention and windows emit the CPU's text; bf16 graphs the bits of single launches",
          "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const Network network = GENERATE(Network::mixture, Network::latent, Network::deepseek, Network::sparse,
                                   Network::windows, Network::gemma4);
  const Plan plan{"prompt_lookup", R"(,"draft_length":3)"};
  const auto questions = prompts(3, 2);
  const Limits limits{8, {}, 2};
  Rig cpu(plan, Rig::Kind::cpu_planned, 2, network);
  CudaRig cuda(plan, fp32(true), 2, network);
  agree(cpu.run(questions, limits), cuda.run(questions, limits));
  CHECK(cuda.cuda().counts().graph_launches > 0);

  CudaRig eager(plan, {DType::bf16, false, 1, true, 512, false}, 2, network);
  CudaRig graphs(plan, {DType::bf16, true, 1, true, 512, false}, 2, network);
  agree(eager.run(questions, limits), graphs.run(questions, limits));
}

TEST_CASE("latent attention and its experts emit on CUDA the CPU's text when trees are drafted", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(3, 2);
  const Limits limits{6, {}, 2};
  const auto agrees = [&](const char* name, Network network) {
    const Plan plan = plans_of(*methods::find(name)).front();
    INFO(label(plan));
    Rig cpu(plan, Rig::Kind::cpu_planned, 2, network);
    CudaRig cuda(plan, fp32(true), 2, network);
    agree(cpu.run(questions, limits), cuda.run(questions, limits));
  };
  for (const char* name : {"medusa", "eagle2", "eagle3", "mtp_sequential", "draft_model"})
    agrees(name, Network::deepseek);
  for (const char* name : {"eagle2", "mtp_sequential"}) agrees(name, Network::sparse);
}

TEST_CASE("a store of two graphs drops the oldest and gives the same text", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const Plan plan{"prompt_lookup", R"(,"draft_length":3)"};
  const auto questions = prompts(4, 3);
  const Limits limits{16, {}, 2};
  CudaBackend::Options small = fp32(true);
  small.most_graphs = 2;
  CudaRig many(plan, fp32(true), 2), few(plan, small, 2);
  agree(many.run(questions, limits), few.run(questions, limits));
  CHECK(few.cuda().counts().captures >= many.cuda().counts().captures);
}

TEST_CASE("bf16 logits lie within its rounding of fp32's", "[cuda]") {
  // A chain of roundings by at most 2^-9 of a value: embedding, and about 12 tensors for each of 6 layers, whose errors
  // add like independent ones: sqrt(73) * 2^-9 = 1.7 %, of the size of a logit (unit variance by RandomWeights). A
  // factor of 4 for the largest of some hundred values.
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(2, 5);
  Rig cpu({"autoregressive", ""}, Rig::Kind::cpu_planned, 2);
  CudaRig cuda({"autoregressive", ""}, {DType::bf16, true, 1, true, 512}, 2);
  const auto logits_of = [&](Decoder& d, DType format) {
    Ops& ops = d.ops;
    d.generator.join(questions, {0, 1});
    const Session& s = d.generator.session();
    const Rows rows = ops.uniform(2, 1);
    Stream x{ops.embed(d.target.embedding, ops.input("probe", std::vector<int>{3, 7}))};
    d.target.run(ops, x, ops.pass({rows, s.slots}));
    const Tensor logits = d.target.logits(ops, d.target.final_norm(ops, x));
    const Tensor kept = ops.persistent("logits", logits.rows, logits.cols, format);
    ops.store(kept, logits);
    ops.flush();
    return kept;
  };
  const auto exact = cpu.cpu().read_floats(logits_of(cpu.decoder, DType::fp32));
  const auto rounded = cuda.cuda().read_floats(logits_of(cuda.decoder, DType::bf16));
  REQUIRE(exact.size() == rounded.size());
  for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(exact[i] - rounded[i]) < 4 * 0.017);
}

TEST_CASE("forced acceptance emits what it is told on both backends", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto wanted = [](int id, int step) { return 1 + (id + step) % 3; };
  for (const Plan& plan : {Plan{"draft_model", R"(,"draft":"same","draft_length":3)"},
                           plans_of(*methods::find("medusa")).front(), plans_of(*methods::find("eagle2")).front()}) {
    INFO(label(plan));
    Rig cpu(plan, Rig::Kind::cpu_planned, 2);
    CudaRig cuda(plan, fp32(true), 2);
    cpu.decoder.generator.force_acceptance(wanted);
    cuda.decoder.generator.force_acceptance(wanted);
    const auto a = cpu.run(prompts(3, 8), {10, {}, 2}), b = cuda.run(prompts(3, 8), {10, {}, 2});
    agree(a, b);
    for (std::size_t id = 0; id < a.size(); ++id)
      for (std::size_t step = 0; step < a[id].accepted.size(); ++step)
        CHECK(a[id].accepted[step] ==
              std::min(wanted(static_cast<int>(id), static_cast<int>(step)), cpu.decoder.method->depth() + 1));
  }
}

TEST_CASE("large random weights are filled on the device with the numbers of the host", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  WeightStore store(DType::fp32);
  RandomWeights random(5);
  PerturbedWeights source(random, "draft.", 0.2, 9);
  const int n = 1024;  // 2^20 values: from there on the device makes them
  const Weight w = store.matrix("draft.layers.0.qkv", n, n), identity = store.matrix("layers.1.o", n, n);
  CudaBackend backend(store, source, {DType::fp32, false, 0, true, 8});
  Ops ops(backend, DType::fp32, 1);
  for (const Weight& each : {w, identity}) {
    std::vector<float> host(static_cast<std::size_t>(n) * n);
    source.load(store.name(each), n, n, host);
    // rows of a matrix through an embedding
    const Tensor y = ops.embed(each, ops.input("ids", std::vector<int>{0, 1, 1023}));
    const Tensor kept = ops.persistent("kept", 3, n, DType::fp32);
    ops.store(kept, y);
    ops.flush();
    const auto got = backend.read_floats(kept);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t c = 0; c < static_cast<std::size_t>(n); ++c) {
        const std::size_t row = r == 2 ? 1023 : r;
        // the last bit of fp64's log and cos may differ, which the rounding to fp32 shows once in a long while
        REQUIRE(got[r * n + c] == Approx(host[row * n + c]).epsilon(2e-7).margin(1e-12));
      }
  }
}

TEST_CASE("the engine profile of our decoder declares the launches that its ops have", "[cuda]") {
  // That graphs have as many nodes as their ops declare is asserted by the backend at every capture.
  const Document document = Document::from_file(source_folder() / "data/engines/draftline-0.1.json");
  const Engine profile = read_engine(document.root());
  const std::vector<std::vector<int>> usual;
  std::set<std::string> keys;
  for (const Plan& plan : all_plans()) {
    Rig rig(plan, Rig::Kind::priced, 2);
    rig.decoder.ops.follow(&usual);
    rig.decoder.generator.assume(2, 20);
    rig.decoder.generator.step();
    for (const SegmentRun& run : rig.steps.back())
      for (const Op& op : run.tape->ops) {
        if (std::holds_alternative<Upload>(op)) continue;  // a copy before the graph
        const auto key = op_key(op, *run.tape);
        INFO(key);
        CHECK(profile.cost_of(key).launches == CudaBackend::declared_launches(op));
        keys.insert(std::string(key));
      }
  }
  CHECK(keys.size() > 20);
  CHECK(profile.cost_of("expert_mlp").launches == CudaBackend::declared_launches(MixtureOfExperts{}));
}

TEST_CASE("weights in 8 bits are refused by name", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  WeightStore store(Precision("int8", format_named("int8")->layers, DType::fp32));
  RandomWeights random(5);
  const Weight w = store.matrix("layers.0.qkv", 8, 8);
  CudaBackend backend(store, random, {DType::fp32, false, 0, true, 8});
  Ops ops(backend, DType::fp32, 1);
  const Tensor x = ops.persistent("x", 1, 8, DType::fp32);
  ops.linear(x, w);
  CHECK_THROWS_AS(ops.flush(), InputErrors);
}

TEST_CASE("a target with recurrent states emits on CUDA the CPU's text under methods that draft chains", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const auto questions = prompts(3, 2);
  const Limits limits{8, {}, 2};
  for (const Plan& plan :
       {Plan{"autoregressive", ""}, {"prompt_lookup", R"(,"draft_length":3)"}, {"eagle3", R"(,"draft_length":2)"}}) {
    INFO(label(plan));
    const Network network = GENERATE(Network::hybrid, Network::column_gates);
    Rig cpu(plan, Rig::Kind::cpu_planned, 2, network);
    CudaRig cuda(plan, fp32(true), 2, network);
    agree(cpu.run(questions, limits), cuda.run(questions, limits));
  }
  CudaRig ungated({"autoregressive", ""}, fp32(true), 2, Network::state_spaces);
  CHECK_THROWS_AS(ungated.run(questions, limits), InputErrors);
}
