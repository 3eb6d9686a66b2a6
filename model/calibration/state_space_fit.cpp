// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/state_space_fit.h"

#include <cstdint>

#include "model/calibration/delta_net_fit.h"
#include "model/calibration/part_fit.h"
#include "model/calibration/table_cells.h"
#include "model/kernels/gpu_delta_net_time.h"

namespace draftline {
namespace {

std::vector<StateSpacePoint> calls_of(const std::vector<StateSpacePoint>& all, bool prompts) {
  std::vector<StateSpacePoint> points;
  for (const StateSpacePoint& p : all)
    if (p.kernel.prompts == prompts) points.push_back(p);
  return points;
}

}  // namespace

Seconds predicted(const StateSpaceFit& f, const Device& d, const StateSpacePoint& p) {
  return state_space_time(f, d, p.kernel, left_in_l2(p.kernel));
}
Seconds predicted(const Device& d, const StateSpacePoint& p) {
  if (const auto& fit = d.gpu().state_space) return predicted(*fit, d, p);
  return delta_net_time(*d.gpu().delta_net, d, p.kernel, left_in_l2(p.kernel));
}

StateSpaceFit fit_state_space(const std::vector<StateSpacePoint>& points, const Device& d, FitSpread* spread) {
  if (spread != nullptr) *spread = {};
  const PartFitting fit_part{"state spaces", d, spread};
  StateSpaceFit fit;
  fit_part(fit, &StateSpaceFit::convolution, "convolution", calls_of(points, false));
  fit_part(fit, &StateSpaceFit::prompt_convolution, "prompt_convolution", calls_of(points, true));
  return fit;
}

StateSpaceTable read_state_space_table(const Csv& t) {
  constexpr Seconds kMillisecond{1e-3};
  const auto kernel = t.column("kernel_source"), sequences = t.column("batch_size"), rows_each = t.column("seq_len"),
             width = t.column("d_conv"), heads = t.column("nheads"), head_dim = t.column("head_dim"),
             groups = t.column("n_groups"), state_dim = t.column("d_state"), time = t.column("latency");
  StateSpaceTable table;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const auto positive = [&](std::size_t column) { return std::int64_t{count(t, i, column, 1)}; };
    const std::string_view name = t.text(i, kernel);
    const std::int64_t rows = positive(rows_each), batch = positive(sequences), columns = positive(heads);
    StateSpacePoint p{
        {.sequences = static_cast<int>(batch),
         .rows = total(t, i, batch * rows),
         .columns = total(t, i, columns * positive(head_dim) + 2 * positive(groups) * positive(state_dim)),
         .kernel = count(t, i, width, 1),
         .prompts = name == "causal_conv1d_fn",
         .state_space = true}};
    total(t, i, batch * p.kernel.kernel + p.kernel.rows);  // The price adds the rows that were kept.
    if (!p.kernel.prompts && name != "causal_conv1d_update") t.fail(i, "an unknown kernel of state spaces");
    if (p.kernel.prompts && rows < kLeastConvolvedPrompt) {
      ++table.short_prompts;
      continue;
    }
    p.time = latency(t, i, time, kMillisecond);
    table.points.push_back(p);
  }
  return table;
}

}  // namespace draftline
