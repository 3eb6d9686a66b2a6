// SPDX-License-Identifier: Apache-2.0
// Launches that compute a chunk of a prompt and decoding rows together, as the RTX 4090's step table has them; no fit
// saw one. Only those whose KV cache fits the card beside the weights of the network that was served.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/csv.h"
#include "model/kernels/gpu_time.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

constexpr int kHeads = 32, kKvHeads = 8, kColumns = 128;  // Llama-3.1-8B
constexpr std::int64_t kCachedTokens = 60000;             // 8 GB at 131 kB a token

struct Part {
  int sequences = 0, rows = 0, context = 0;
};
Seconds time_of(const Device& d, Part p, bool mixed = false) {
  Attention k;
  k.sequences = p.sequences, k.rows = p.sequences * p.rows, k.widest = mixed ? 2 : p.rows;
  k.heads = kHeads, k.kv_heads = kKvHeads, k.head_dim = kColumns;
  const double rows = p.rows, context = p.context;
  const AttentionChoice choice = attention_choice(d.gpu().attention, "flash_attention_2", k.cache);
  const Span span{p.sequences * (rows * context + rows * (rows + 1) / 2), p.sequences * (rows + context)};
  return gpu_time(d, choice, k, span, CacheState::repeated);
}

}  // namespace

TEST_CASE("a launch with a prompt's chunk and decoding rows: more than the two apart, as measured", "[golden]") {
  const std::filesystem::path file =
      std::filesystem::path(DRAFTLINE_REFERENCE_DATA) / "serving/rtx4090_llama31_8b_vllm/step_tables/attention.csv";
  if (std::string(DRAFTLINE_REFERENCE_DATA).empty()) SKIP_TEST("DRAFTLINE_REFERENCE_DATA is not set");
  const Device d = known_device("rtx-4090");
  const AttentionFit& fit = d.gpu().attention.fits.front();
  const Csv t = Csv::from_file(file);
  double n = 0, together = 0, apart = 0, bias = 0;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const auto count = [&](const char* column) { return static_cast<int>(t.integer(i, column)); };
    const Part chunk{1, count("prefill_chunk"), count("kv_prefill")};
    const Part decode{count("n_decode"), 1, count("kv_decode")};
    if (chunk.rows == 0 || decode.sequences == 0) continue;
    if (chunk.context + std::int64_t{decode.sequences} * decode.context > kCachedTokens) continue;
    const Seconds measured{1e-6 * t.number(i, "time_us")}, of_chunk = time_of(d, chunk);
    const Seconds launch = std::min(fit.decode.fixed, fit.prefill.fixed);
    const double error = (of_chunk + time_of(d, decode, true) - launch) / measured - 1;
    together += std::abs(error);
    bias += error;
    apart += std::abs((of_chunk + time_of(d, decode)) / measured - 1);
    n += 1;
  }
  std::printf("rtx-4090 mixed launches: %.0f   mean %.1f %%, bias %+.1f %%   as the sum of their parts %.1f %%\n", n,
              100 * together / n, 100 * bias / n, 100 * apart / n);
  CHECK(n > 5000);
  CHECK(together / n < 0.19);  // 18.3 % is reached
  CHECK(together < 0.7 * apart);
}
