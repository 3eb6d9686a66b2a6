// SPDX-License-Identifier: Apache-2.0
// For developers: fits the kernel model to one folder of reference tables and prints the blocks of "fits" that go into
// data/devices. Usage: fit_devices DEVICE.json FOLDER [TRANSFORMER.json of a step table]
#include <cstdio>
#include <exception>

#include "model/kernel_tables.h"
#include "model/kernel_time.h"

using namespace draftline;

namespace {

template <class Point, class... More>
double mean_error(const Device& d, const std::vector<Point>& points, More... more) {
  double sum = 0;
  for (const Point& p : points) sum += std::abs(predicted(d, p, more...) / p.time - 1);
  return sum / static_cast<double>(points.size());
}

double us(Seconds t) { return t.value * 1e6; }

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: fit_devices DEVICE.json FOLDER [TRANSFORMER.json]\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[2];
  const auto document = Document::from_file(argv[1]);
  Device d = read_device(document.root());
  document.finish();

  std::vector<GemmPoint> gemms;
  std::vector<AttentionPoint> attention;
  int copies = kCollectorCopies;
  if (std::filesystem::exists(folder / "dense.csv")) {
    const auto network = Document::from_file(argv[3]);
    const TransformerShape shape = read_transformer(network.root());
    network.finish();
    gemms = read_step_gemms(folder / "dense.csv", shape);
    attention = read_step_attention(folder / "attention.csv", shape);
    copies = kColdCopies;
  } else {
    gemms = read_gemm_table(folder / "gemm.csv.gz");
    attention = read_decode_table(folder / "generation_attention.csv.gz");
    const auto prefill = read_prefill_table(folder / "context_attention.csv.gz");
    attention.insert(attention.end(), prefill.begin(), prefill.end());
  }
  const GemmFit g = d.fits.gemm = fit_gemm(thinned(gemms, 2500), d, copies);
  const auto [a, b] = fit_attention(thinned(attention, 4000), d);
  d.fits.decode = a;
  d.fits.prefill = b;
  std::printf(
      "{\"gemm\": {\"fixed\": \"%.4g us\", \"peak_share\": %.4g, \"bandwidth_share\": %.4g, \"blend\": %.4g, "
      "\"k_loop\": \"%.4g us\", "
      "\"l2_speed\": %.4g, \"l2_share\": %.4g, \"split\": \"%.4g us\", \"tile_half\": %.4g, \"output_cost\": %.4g, "
      "\"latency\": \"%.4g us\", \"wave_softness\": %.4g},\n",
      us(g.fixed), g.peak_share, g.bandwidth_share, g.blend, us(g.k_loop), g.l2_speed, g.l2_share, us(g.split),
      g.tile_half, g.output_cost, us(g.latency), g.wave_softness);
  std::printf(
      "\"decode_attention\": {\"fixed\": \"%.4g us\", \"per_unit\": \"%.4g us\", \"join\": \"%.4g us\", "
      "\"per_root_key\": \"%.4g us\", "
      "\"bandwidth_share\": %.4g, \"l2_speed\": %.4g, \"l2_share\": %.4g, \"blend\": %.4g},\n",
      us(a.fixed), us(a.per_unit), us(a.join), us(a.per_root_key), a.bandwidth_share, a.l2_speed, a.l2_share, a.blend);
  std::printf(
      "\"prefill_attention\": {\"fixed\": \"%.4g us\", \"per_tile\": \"%.4g us\", \"peak_share\": %.4g, "
      "\"bandwidth_share\": %.4g, "
      "\"write_share\": %.4g, "
      "\"per_row\": \"%.4g us\", \"blend\": %.4g, \"wave_softness\": %.4g, \"packed\": %s}}\n",
      us(b.fixed), us(b.per_tile), b.peak_share, b.bandwidth_share, b.write_share, us(b.per_row), b.blend,
      b.wave_softness, b.packed ? "true" : "false");
  std::fprintf(stderr, "%s: mean error in sample: GEMM %.4f, attention %.4f\n", d.name.c_str(),
               mean_error(d, gemms, copies), mean_error(d, attention));
} catch (const std::exception& e) {
  std::fprintf(stderr, "fit_devices: %s\n", e.what());
  return 1;
}
