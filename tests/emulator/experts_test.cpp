// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts against the CPU backend: every number of rows, however they choose, and a row's bits alone and in
// company.
#include "tests/emulator/expert_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// Of a row's size (root mean square). fp32: the order of the router's additions alone. bf16: what goes from one product
// to the other is off by up to 2^-9 of itself; where one number makes most of a row, a weight of four times the usual
// size shows that as 2^-7; the others add less, and the result is rounded once more.
template <class T>
constexpr double kExpertTolerance = std::is_same_v<T, float> ? 2e-5 : 1.0 / 64;

// The largest of a row, as `distance`.
double distance_of_rows(const std::vector<float>& got, const std::vector<float>& expected, int columns) {
  double worst = 0;
  for (auto g = got.begin(), e = expected.begin(); e != expected.end(); g += columns, e += columns) {
    const std::vector<float> row(e, e + columns);
    const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    worst = std::max(worst, distance({g, g + columns}, row, std::sqrt(squares / columns)));
  }
  return worst;
}

template <class T>
void check_mixture(const ExpertShape& m, const Routing& routing, const char* format) {
  INFO(format << ", " << m.rows << " rows, " << m.hidden << " x " << m.inner << ", " << m.per_token << " of "
              << m.experts << " experts");
  Mixture<T> mixture(m, routing);
  const auto expected = mixture.expected(), once = mixture.run();
  REQUIRE(once.size() == expected.size());
  CHECK(distance_of_rows(once, expected, m.hidden) < kExpertTolerance<T>);
  CHECK(mixture.run() == once);  // the counters are as they were, and the same sums have the same bits
}
void check_both(const ExpertShape& m, const Routing& routing = {}) {
  check_mixture<float>(m, routing, "fp32");
  check_mixture<bf16>(m, routing, "bf16");
}

std::vector<int> repeated(const std::vector<int>& rows_of_expert) {
  std::vector<int> first;
  for (std::size_t e = 0; e < rows_of_expert.size(); ++e)
    first.insert(first.end(), static_cast<std::size_t>(rows_of_expert[e]), static_cast<int>(e));
  return first;
}

}  // namespace

TEST_CASE("a mixture of experts is the CPU's, whatever the number of rows") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 2, 15, 16, 17, 33, 64, 130, 256);
  check_both({rows, 40, 24, 6, 2, rows % 2 == 0});
}

TEST_CASE("experts of every size are the CPU's") {
  NEEDS_DEVICE;
  // Strips of columns and stages of inputs that are full, not full, and more than the stages at hand; inputs of the
  // router in parts; more experts than a warp has lanes; widths that can't be read 16 bytes at a time; every expert for
  // every row.
  check_both({5, 64, 32, 4, 2, true});
  check_both({5, 520, 72, 4, 3, true});
  check_both({20, 136, 200, 4, 2, false});
  check_both({3, 2304, 16, 5, 1, true});
  check_both({9, 96, 40, 70, 4, true});
  check_both({20, 60, 21, 6, 2, true});
  check_both({18, 48, 24, 6, 6, false});
}

TEST_CASE("rows may choose as unevenly as they like") {
  NEEDS_DEVICE;
  // Rows of each expert: groups of 16, or of 64 where an expert has more than eight rows on average.
  const auto rows = GENERATE(values<std::vector<int>>(
      {{70, 0, 0, 0}, {0, 0, 0, 33}, {17, 16, 1, 1}, {1, 0, 18, 0}, {64, 65, 0, 1}, {3, 0, 129, 4}}));
  auto first = repeated(rows);
  std::shuffle(first.begin(), first.end(), std::mt19937(3));
  check_both({static_cast<int>(first.size()), 40, 24, 4, 1, false}, {first});
  check_both({static_cast<int>(first.size()), 40, 24, 4, 2, true}, {first});
}

TEST_CASE("weights of experts that nobody chose don't matter") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 20, 150);
  check_both({rows, 40, 24, 8, 2, true}, {{}, {0, 3, 4, 7}});
  check_both({rows, 60, 21, 8, 3, false}, {std::vector<int>(static_cast<std::size_t>(rows), 5), {0, 1, 6}});
}

TEST_CASE("routers choose and weigh as on the CPU: groups, sigmoid scores, biases, weighed inputs") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 21, 150);
  ExpertShape m{rows, 64, 24, 12, 3, true};
  m.scale = 2.5F;
  m.groups = 4;
  m.groups_per_token = 2;
  check_both(m);  // DeepSeek-V2: softmax, the best groups by their best expert
  m.sigmoid = true;
  check_both(m, {{}, {}, true});  // DeepSeek-V3: by their best two, with a bias of the choice
  m.normalise = false;
  check_both(m, {{}, {}, true});
  m.groups = m.groups_per_token = 1;
  check_both(m, {{}, {}, true});  // GLM-4.5
  ExpertShape one{rows, 64, 24, 6, 1, false, true};
  one.weighs_inputs = true;
  check_both(one);  // Llama 4
  ExpertShape clamped{rows, 64, 24, 6, 2, true};
  clamped.gate = MlpKind::clamped_swiglu;
  check_both(clamped, {{}, {}, false, true});  // gpt-oss
  ExpertShape beside{rows, 64, 24, 6, 2, true};
  beside.gate = MlpKind::gated_gelu;
  check_both(beside, {{}, {}, false, false, true});                      // Gemma 4
  check_both({rows, 60, 21, 40, 3, true, true, 20, 5}, {{}, {}, true});  // groups of two, and no tensor cores
}

TEST_CASE("a row's result has the same bits alone and among others") {
  NEEDS_DEVICE;
  const auto check_rows = [](auto format) {
    using T = decltype(format);
    const ExpertShape many{150, 104, 40, 6, 2, true};
    Mixture<T> all(many);
    const auto whole = all.run();
    CHECK(plan_experts<T>(many).tensor_cores == std::is_same_v<T, bf16>);
    for (const int rows : {1, 7, 20}) {
      ExpertShape few = many;
      few.rows = rows;
      Mixture<T> some(few);
      some.x = Array<T>(std::vector<float>(all.numbers.x.end() - rows * many.hidden, all.numbers.x.end()), many.hidden);
      some.router = Array<T>(all.numbers.router, many.experts);
      some.gate_up = Array<T>(all.numbers.gate_up, 2 * many.inner);
      some.down = Array<T>(all.numbers.down, many.hidden);
      CHECK(some.run() == std::vector<float>(whole.end() - rows * many.hidden, whole.end()));
    }
  };
  check_rows(float{});
  check_rows(bf16{});
}

TEST_CASE("a captured mixture serves rows that choose other experts than when it was captured") {
  NEEDS_DEVICE;
  const ExpertShape m{21, 40, 24, 6, 1, false};
  const Mixture<bf16> captured(m, {repeated({21, 0, 0, 0, 0, 0})});
  Mixture<bf16> other(m, {repeated({1, 7, 0, 6, 3, 4})});  // the same seed: the same weights
  const Stream stream;
  captured.forget();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  captured.launch(stream);
  must(cudaStreamEndCapture(stream, &graph), "capture");
  std::size_t nodes = 0;
  must(cudaGraphGetNodes(graph, nullptr, &nodes), "nodes");
  CHECK(nodes == kExpertLaunches);
  must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  must(cudaGraphLaunch(exec, stream), "graph");
  stream.wait();
  CHECK(captured.result() != other.run());
  must(cudaMemcpy(captured.x.view().data, other.x.raw().data(), sizeof(bf16) * 21 * 40, cudaMemcpyHostToDevice),
       "copy");
  wait_for_device();
  must(cudaGraphLaunch(exec, stream), "graph");
  stream.wait();
  CHECK(captured.result() == other.run());
  static_cast<void>(cudaGraphExecDestroy(exec));
  static_cast<void>(cudaGraphDestroy(graph));
}

TEST_CASE("more rows than a mixture of experts takes are refused, not run") {
  NEEDS_DEVICE;
  const Stream stream;
  const ExpertShape m{kCounters * 16, 8, 8, 2, 1, true};
  const auto refuses = [&](const ExpertShape& shape) {
    OpRunner d(stream);
    d.with.scratch = {nullptr, expert_scratch<bf16>(shape)};
    const Tensor rows = d(View<bf16>{nullptr, shape.rows, shape.hidden, shape.hidden});
    const auto nothing = [&](int in, int out) { return d.weight(View<const bf16>{nullptr, in, out, out}); };
    MixtureOfExperts op = experts_of(shape, rows, rows);
    op.w = {nothing(shape.hidden, shape.experts), nothing(shape.experts * shape.hidden, 2 * shape.inner),
            nothing(shape.experts * shape.inner, shape.hidden)};
    CHECK_THROWS_AS(d.run<bf16>(op), InputErrors);
  };
  refuses(m);
  ExpertShape split{1, 8, 8, 66, 1, true};  // 33 groups of two
  split.groups = 33;
  refuses(split);
}

TEST_CASE("groups of rows are planned for the worst that rows can choose") {
  // 4 experts, 35 rows, one each: 17 + 16 + 1 + 1 are 2 + 1 + 1 + 1 groups of 16.
  CHECK(plan_experts<float>({35, 32, 8, 4, 1, true}).most_groups == 5);
  CHECK(plan_experts<bf16>({1, 2048, 768, 128, 8, true}).most_groups == 8);
  CHECK(plan_experts<bf16>({16, 2048, 768, 8, 2, true}).most_groups == 8);  // no expert has more than 16 rows
  CHECK(plan_experts<bf16>({64, 2048, 768, 128, 8, true}).group_rows == 16);
  CHECK(plan_experts<bf16>({256, 2048, 768, 128, 8, true}).group_rows == 64);
}
