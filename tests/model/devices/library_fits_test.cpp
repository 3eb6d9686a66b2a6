// SPDX-License-Identifier: Apache-2.0
#include "model/devices/library_fits.h"

#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "model/kernels/operand_fits.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

constexpr const char* kFit = R"({"kind": "guess", "source": "s", "locator": "l", "fixed": "1 us", "peak_share": 0.5,
  "bandwidth_share": 0.5, "blend": 2, "k_loop": "1 us", "l2_speed": 2, "l2_share": 0.5, "split": "1 us",
  "tile_half": 10, "output_cost": 0, "latency": "1 us", "wave_softness": 0.5})";

// An H200 whose file has fits of a library, as this text.
Device with_libraries(const std::string& libraries) {
  const auto file = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/devices/h200.json";
  auto json = nlohmann::ordered_json::parse(read_text_file(file));
  json["fits"]["libraries"] = nlohmann::ordered_json::parse(libraries);
  const Document document = Document::from_text(json.dump(), file);
  Device d = read_device(document.root());
  document.finish();
  return d;
}

}  // namespace

TEST_CASE("an engine's library replaces the fits that it has, and no others") {
  const Device d = with_libraries(R"({"mine": {"gemm_fp8": )" + std::string(kFit) + "}}");
  const Device mine = with_library_fits(d, "mine");
  const Operands fp8 = operands_of(NarrowFormat::fp8);
  CHECK(gemm_fit(mine, fp8).fit.fixed.value == Approx(1e-6));
  CHECK(gemm_fit(mine, fp8).fit.fixed != gemm_fit(d, fp8).fit.fixed);
  CHECK(gemm_fit(mine, {}).fit.fixed == gemm_fit(d, {}).fit.fixed);
  CHECK(expert_fit(mine, {}).fit->fixed == expert_fit(d, {}).fit->fixed);
  CHECK(has_library_fits(d, "mine"));
  CHECK_FALSE(has_library_fits(mine, "mine"));  // it has them
}

TEST_CASE("a library's convolutions of state spaces replace the device's") {
  const Device d = with_libraries(R"({"mine": {"state_space": {"kind": "guess", "source": "s", "locator": "l",
    "convolution": {"fixed": "1 us", "bandwidth_share": 0.5, "l2_speed": 2, "l2_share": 0.5},
    "prompt_convolution": {"fixed": "2 us", "start": "1 us", "chunk": "1 us", "bandwidth_share": 0.5, "blend": 2,
                           "wave_softness": 0.5}}}})");
  CHECK_FALSE(d.gpu().state_space);
  const std::optional<StateSpaceFit> mine = with_library_fits(d, "mine").gpu().state_space;
  REQUIRE(mine);
  CHECK(mine->convolution.fixed.value == Approx(1e-6));
  CHECK(mine->prompt_convolution.fixed.value == Approx(2e-6));
  CHECK_FALSE(with_library_fits(d, "another").gpu().state_space);
}

TEST_CASE("a library's fp8 kernels take static scales too, in place of another library's kernels for them") {
  Device d = with_libraries(R"({"mine": {"gemm_fp8": )" + std::string(kFit) + "}}");
  d.gpu().narrow_gemm[NarrowFormat::fp8_static] = GemmFit{};
  const Operands scaled = operands_of(NarrowFormat::fp8_static);
  CHECK(gemm_fit(d, scaled).fit.fixed == Seconds{});
  const Device with_mine = with_library_fits(d, "mine");
  const ChosenGemmFit mine = gemm_fit(with_mine, scaled);
  CHECK(mine.fit.fixed.value == Approx(1e-6));
  CHECK_FALSE(mine.guess);
}

TEST_CASE("another library's kernels that unpack weights are not this one's") {
  Device d = with_libraries(R"({"mine": {"gemm_fp8": )" + std::string(kFit) + "}}");
  d.gpu().narrow_experts[NarrowFormat::int4_wo] = ExpertFit{};
  const Operands unpacked = operands_of(NarrowFormat::int4_wo);
  CHECK_FALSE(expert_fit(d, unpacked).guess);
  for (const char* library : {"mine", "not_measured"}) {
    CHECK(has_library_fits(d, library));
    CHECK(expert_fit(with_library_fits(d, library), unpacked).guess);
  }
  CHECK_FALSE(expert_fit(with_library_fits(d, ""), unpacked).guess);
}

TEST_CASE("a library that was not measured, none, and a CPU leave the device as it is") {
  const Device d = with_libraries(R"({"mine": {"gemm": )" + std::string(kFit) + "}}");
  CHECK_FALSE(has_library_fits(d, ""));
  for (const char* name : {"", "another"}) {
    CHECK(gemm_fit(with_library_fits(d, name), {}).fit.fixed == gemm_fit(d, {}).fit.fixed);
  }
  CHECK(with_library_fits(known_device("cpu"), "mine").cpu() != nullptr);
}

TEST_CASE("a library has products and experts alone") {
  CHECK(mistake_of([] { with_libraries(R"({"mine": {"copy": {}}})"); }).find("libraries/mine/copy: unknown key") !=
        std::string::npos);
}
