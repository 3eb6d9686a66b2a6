// SPDX-License-Identifier: Apache-2.0
// Latent attention on shapes it has not seen. Absorbed: whole numbers of heads are left out of the fit. Expanded: the
// shipped fit of FlashAttention 3, which has seen neither such shapes nor this table. Figures: docs/accuracy.md.
#include <cstdio>

#include "model/kernel_tables.h"
#include "model/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/heldout.h"
#include "tests/model/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

TEST_CASE("absorbed latent attention of unseen numbers of heads", "[golden]") {
  const DType cache = GENERATE(DType::bf16, DType::fp8);
  const auto file = table_of("h100_sxm", "mla_generation_module.csv.gz");
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  Device d = known_device("h100-sxm");
  std::vector<AttentionPoint> all;
  for (AttentionPoint& p : read_latent_decode_table(file, d))
    if (p.format == cache) all.push_back(std::move(p));
  const Device shipped = d;
  Errors ours, large, other, plain;
  for (const int left_out : {1, 2, 4, 8, 16, 32, 64, 128}) {
    std::vector<AttentionPoint> seen, unseen;
    for (const AttentionPoint& p : all) (p.heads == left_out ? unseen : seen).push_back(p);
    d.gpu().attention.fits = {fit_attention(thinned(seen, 1000), d, nullptr, HeadLayout::packed)};
    for (const AttentionPoint& p : unseen) {
      ours.add(predicted(d, p), p.time);
      if (p.time > Seconds{50e-6}) large.add(predicted(d, p), p.time);
      AttentionPoint grouped = p;  // by the fit of ordinary attention
      grouped.library = "flash_attention_3";
      const auto choice = attention_choice(shipped.gpu().attention, grouped.library, p.format);
      other.add(gpu_time(shipped, choice, kernel_of(p), span_of(p), p.cache), p.time);
      plain.add(roofline_time(d, work(kernel_of(p), span_of(p)), DType::bf16), p.time);
    }
  }
  const std::string over = " over " + std::string(name(cache));
  ours.print("h100-sxm", "absorbed" + over);
  large.print("h100-sxm", "absorbed" + over + ", beyond 50 us");
  other.print("h100-sxm", "absorbed" + over + ", FA3's fit");
  plain.print("h100-sxm", "absorbed" + over + ", roofline");
  CHECK(ours.mean() < other.mean());
  CHECK(ours.mean() < plain.mean());
}

TEST_CASE("expanded latent attention by the fit of ordinary attention", "[golden]") {
  const auto file = table_of("h100_sxm", "context_mla.csv.gz");
  if (const auto why = missing(file); !why.empty()) SKIP_TEST(why);
  const Device d = known_device("h100-sxm");
  Errors all, plain;
  for (const AttentionPoint& p : read_latent_prefill_table(file, d)) {
    all.add(predicted(d, p), p.time);
    plain.add(roofline_time(d, work(kernel_of(p), span_of(p)), DType::bf16), p.time);
  }
  all.print("h100-sxm", "expanded, FA3's fit");
  plain.print("h100-sxm", "expanded, roofline");
  CHECK(all.points() > 100);
  CHECK(all.mean() < plain.mean());
}
