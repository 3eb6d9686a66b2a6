// SPDX-License-Identifier: Apache-2.0
// What the products of a mixture of experts read, as the emulator counts it, is what the model's accounting says.
#include <mma_emulation.h>

#include "model/work.h"
#include "tests/emulator/expert_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// Bytes of the weights, each of which comes once for every group of its expert's rows: what is copied in the background
// less the rows' own numbers, which every strip of columns reads again.
double weights_read(const ExpertShape& m, const std::vector<int>& first) {
  const Mixture<bf16> mixture(m, {first});
  emulation::copied_later() = 0;
  static_cast<void>(mixture.run());
  const ExpertPlan plan = plan_experts<bf16>(m);
  const int up_strips = ceil_div(m.inner, plan.columns / 2), down_strips = ceil_div(m.hidden, plan.columns);
  const double rows = sizeof(bf16) * static_cast<double>(m.rows * m.per_token);
  return static_cast<double>(emulation::copied_later()) - rows * (up_strips * m.hidden + down_strips * m.inner);
}

}  // namespace

TEST_CASE("an expert's weights are read once for all of its rows") {
  // One expert a row: 3 x 64 x 40 bf16 each.
  const double expert = 3 * 64 * 40 * 2;
  const auto rows_on = [](int expert_of_all, int rows) {
    return std::vector<int>(static_cast<std::size_t>(rows), expert_of_all);
  };
  CHECK(weights_read({1, 64, 40, 8, 1, true}, {3}) == expert);
  CHECK(weights_read({16, 64, 40, 8, 1, true}, rows_on(5, 16)) == expert);
  CHECK(weights_read({64, 64, 40, 4, 1, true}, rows_on(2, 64)) == expert);
  CHECK(weights_read({65, 64, 40, 4, 1, true}, rows_on(2, 65)) == 2 * expert);  // two groups of up to 64 rows
  CHECK(weights_read({6, 64, 40, 8, 1, true}, {0, 7, 7, 2, 0, 7}) == 3 * expert);

  // All of them: what the accounting calls touched, where rows meet every expert.
  std::vector<int> in_turn;
  for (int r = 0; r < 200; ++r) in_turn.push_back(r % 8);
  const ExpertMlp k{200, 64, 40, 8, 1, DType::bf16, DType::bf16};
  CHECK(weights_read({200, 64, 40, 8, 1, true}, in_turn) == Approx(experts_touched(k) * expert));
}
