// SPDX-License-Identifier: Apache-2.0
// Latent attention on shapes it has not seen: whole numbers of heads are left out of the fit. The figures stand in
// docs/explanation/accuracy.md.
#include <string>

#include "model/calibration/kernel_tables.h"
#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/calibration/heldout.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

namespace {

std::vector<AttentionPoint> points_of(AttentionForm form, DType cache, const Device& d) {
  std::vector<AttentionPoint> all;
  const auto add = [&](const std::vector<AttentionPoint>& points) {
    for (const AttentionPoint& p : points)
      if (form_of(kernel_of(p)) == form && p.format == cache) all.push_back(p);
  };
  ExcludedRows left_out;
  const auto table = [](const char* file) { return Csv::from_file(table_of("h100_sxm", file)); };
  add(read_absorbed_modules(table("mla_generation_module.csv.gz"), d, left_out));
  add(read_absorbed_modules(table("mla_context_module.csv.gz"), d, left_out));
  add(read_latent_prompts(table("context_mla.csv.gz"), d, left_out));
  return all;
}

}  // namespace

TEST_CASE("latent attention of unseen numbers of heads", "[golden]") {
  struct Kernel {
    AttentionForm form;
    DType cache;
  };
  const auto kernel =
      GENERATE(Kernel{AttentionForm::absorbed, DType::bf16}, Kernel{AttentionForm::absorbed, DType::fp8},
               Kernel{AttentionForm::expanded, DType::bf16});
  if (const auto why = obstacle(table_of("h100_sxm", "mla_generation_module.csv.gz")); !why.empty()) SKIP_TEST(why);
  const Device shipped = known_device("h100-sxm");
  Device d = shipped;
  const auto all = points_of(kernel.form, kernel.cache, d);
  Errors decode, large, prompts, other, plain;
  for (const int left_out : {1, 2, 4, 8, 16, 32, 64, 128}) {
    std::vector<AttentionPoint> seen, unseen;
    for (const AttentionPoint& p : all) (p.heads == left_out ? unseen : seen).push_back(p);
    if (unseen.empty()) continue;
    d.gpu().attention.fits = {fit_attention(thinned(seen, 1500), d, nullptr, HeadLayout::packed)};
    for (const AttentionPoint& p : unseen) {
      (p.rows > 1 ? prompts : decode).add(predicted(d, p), p.time);
      if (p.rows == 1 && p.time > Seconds{50e-6}) large.add(predicted(d, p), p.time);
      const auto ordinary = attention_choice(shipped.gpu().attention, "flash_attention_3", p.format);
      other.add(gpu_time(shipped, ordinary, kernel_of(p), span_of(p), p.cache), p.time);
      plain.add(roofline_time(d, work(kernel_of(p), span_of(p)), DType::bf16), p.time);
    }
  }
  const std::string what =
      std::string(name_of(kAttentionForms, kernel.form)) + " over " + std::string(name(kernel.cache));
  decode.print("h100-sxm", what + ", decode");
  large.print("h100-sxm", what + ", decode over 50 us");
  prompts.print("h100-sxm", what + ", prompts");
  other.print("h100-sxm", what + ", ordinary fit");
  plain.print("h100-sxm", what + ", roofline");
  const auto mean = [&] {
    return (decode.mean() * static_cast<double>(decode.points()) +
            prompts.mean() * static_cast<double>(prompts.points())) /
           static_cast<double>(decode.points() + prompts.points());
  }();
  CHECK(mean < other.mean());
  CHECK(mean < plain.mean());
}
