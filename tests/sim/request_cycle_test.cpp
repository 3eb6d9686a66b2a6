// SPDX-License-Identifier: Apache-2.0
// What `run` says that requests see of a full batch, beside a closed loop of them, served event by event.
#include "sim/serving.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

TEST_CASE("what requests see of a full batch is what a closed loop of them meets") {
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.83, 0.723, 0.75]}})",
                    plain = R"({"name": "autoregressive"})";
  struct Case {
    std::string method;
    int batch, prompt, output;
  };
  for (const Case& c : {Case{plain, 1, 3000, 64}, Case{eagle, 8, 512, 256}, Case{plain, 48, 8000, 256},
                        Case{eagle, 48, 8000, 256}, Case{eagle, 128, 200, 1000}, Case{plain, 64, 3000, 64}}) {
    INFO(c.method << " " << c.batch << " x " << c.prompt << " + " << c.output);
    const std::string lengths = R"("prompt_tokens": )" + std::to_string(c.prompt) + R"(, "output_tokens": )" +
                                std::to_string(c.output),
                      batch = std::to_string(c.batch);
    const Prediction p = prediction(with(R"("batch_size": )" + batch + ", " + lengths, c.method));
    const FreshFolder folder;
    std::ofstream(folder.path() / "s.json") << with(
        lengths + R"(, "scheduler": {"max_num_seqs": )" + batch +
            R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": )" + batch + R"(}, "requests": )" +
            std::to_string(20 * c.batch) + R"(, "warm_up": )" + std::to_string(2 * c.batch) + "}",
        c.method);
    ServingSweep sweep(folder.path() / "s.json", kData);
    sweep.validate();
    const ServingOutcome o = sweep.at(0, {});
    REQUIRE(std::holds_alternative<ServingResult>(o.result));
    const ServingFigures& served = std::get<ServingResult>(o.result).runs.front().figures;
    // Equal lengths end together in the loop, where the formula takes them as spread: 5 %.
    CHECK(p.request.e2e.value == Approx(served.e2e.mean().value).epsilon(0.05));
    CHECK(p.throughput_with_prefill.value == Approx(served.throughput().value).epsilon(0.07));
    CHECK(p.request.ttft <= 1.02 * served.ttft.mean());  // no queue in it
  }
}

}  // namespace draftline
