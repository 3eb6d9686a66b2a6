// SPDX-License-Identifier: Apache-2.0
// Every method of the table on CUDA against the CPU, in fp32, where the same additions in another order seldom change a
// token of such small networks; graphs against single launches, which must agree to the bit.
#include "tests/cuda/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

std::vector<Plan> all_plans() {
  std::vector<Plan> plans;
  for (const methods::Entry& e : methods::all())
    for (const Plan& p : plans_of(e)) plans.push_back(p);
  return plans;
}
std::string label(const Plan& p) { return p.method + " " + p.parameters; }
CudaBackend::Options fp32(bool graphs, std::uint64_t seed = 1) { return {DType::fp32, graphs, seed, true, 512}; }

void agree(const std::vector<Generated>& a, const std::vector<Generated>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].tokens == b[i].tokens);
    CHECK(a[i].accepted == b[i].accepted);
  }
}

}  // namespace

TEST_CASE("every method emits on CUDA the greedy text of the CPU in the same steps", "[cuda]") {
  if (!has_device()) return;
  const auto questions = prompts(3, 2);
  const Limits limits{12, {}, 2};
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    Rig cpu(plan, Rig::Kind::cpu_planned, 2);
    CudaRig cuda(plan, fp32(true), 2);
    agree(cpu.run(questions, limits), cuda.run(questions, limits));
    CHECK(cpu.decoder.ops.answers() == cuda.decoder.ops.answers());
  }
}
