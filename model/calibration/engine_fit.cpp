// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/engine_fit.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <map>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/devices/fit_quality.h"

namespace draftline {

namespace {

struct Row {
  Seconds time;
  std::vector<double> counts;
};

// Costs of whatever is counted, by least squares of the relative residuals; a cost below nothing is none.
std::vector<double> costs_of(const std::vector<Row>& rows) {
  const auto n = std::ssize(rows), costs = std::ssize(rows.at(0).counts);
  Eigen::MatrixXd a(n, costs);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Row& row = rows[at(i)];
    for (Eigen::Index j = 0; j < costs; ++j) a(i, j) = row.counts[at(j)] / row.time.value;
  }
  std::vector<Eigen::Index> used;
  for (Eigen::Index j = 0; j < costs; ++j) used.push_back(j);
  Eigen::VectorXd x;
  for (bool again = true; again;) {
    const Eigen::MatrixXd part = a(Eigen::all, used);
    x = part.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(n));
    const auto below = std::find_if(x.begin(), x.end(), [](double cost) { return cost < 0; });
    again = below != x.end();
    if (again) used.erase(used.begin() + (below - x.begin()));
  }
  std::vector<double> found(at(costs), 0.0);
  for (Eigen::Index j = 0; j < x.size(); ++j) found[at(used[at(j)])] = x[j];
  return found;
}

}  // namespace

// host = step + op * ops + token * sequences.
HostFit fit_host(const Measured& m) {
  std::vector<MeasuredPoint> steps;
  HostFit f;
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    if (p.op == "step_host") steps.push_back(p);
    if (p.op == "segment_host") f.segment = p.median;
  }
  constexpr std::size_t kLeast = 3;
  if (steps.size() < kLeast || f.segment.value <= 0)
    throw InputErrors(m.file.string() +
                      "#/points: an engine needs three measured points of step_host and one of segment_host");
  std::vector<Row> rows;
  for (const MeasuredPoint& p : steps) rows.push_back({p.median, {1.0, 1.0 * p.at("ops"), 1.0 * p.at("sequences")}});
  const auto found = costs_of(rows);
  f.op = Seconds{found[1]};
  f.token = Seconds{found[2]};
  f.segment = std::max(f.segment - f.op, Seconds{});            // its one op
  f.step = std::max(Seconds{found[0]} - f.segment, Seconds{});  // its one segment
  std::vector<double> errors;
  for (const MeasuredPoint& p : steps)
    errors.push_back(std::abs((found[0] + found[1] * p.at("ops") + found[2] * p.at("sequences")) / p.median.value - 1));
  f.median_error = quantile(errors, 0.5);
  f.worst_error = *std::max_element(errors.begin(), errors.end());
  return f;
}

bool has_gpu_host(const Measured& m) {
  return std::any_of(m.points.begin(), m.points.end(),
                     [](const MeasuredPoint& p) { return p.op == "step_exposed" && p.skipped.empty(); });
}

// Exposed = step + record x ops + token x sequences + graph_launch + sync. A graph that takes longer for more nodes is
// counted with the recording of its ops.
GpuHostFit fit_gpu_host(const Measured& m) {
  constexpr int kMostFitted = 16;  // sequences
  constexpr double kWorst = 0.08;
  std::vector<Row> host, launched[2];
  std::vector<MeasuredPoint> exposed[2];
  Seconds credit[2];
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    if (p.op == "kernel_replayed") credit[1] = p.median;
    if (p.op == "kernel_launched") credit[0] = p.median;
    const bool graphs = p.at("graphs", 1) != 0;
    if (p.op == "step_exposed") exposed[graphs].push_back(p);
    if (p.at("sequences", 0) > kMostFitted) continue;
    if (p.op == "step_host") host.push_back({p.median, {1.0, 1.0 * p.at("ops"), 1.0 * p.at("sequences")}});
    if (p.op == "step_issue") launched[graphs].push_back({p.median, {1.0, 1.0 * p.at("ops")}});
  }
  if (host.size() < 3 || launched[0].size() < 2 || launched[1].size() < 2 || exposed[1].empty())
    throw InputErrors(
        m.file.string() +
        "#/points: an engine needs three measured points of step_host, two of step_issue with and without "
        "graphs, and one of step_exposed with graphs, of up to 16 sequences");
  GpuHostFit f;
  const auto recorded = costs_of(host), graph = costs_of(launched[1]), eager = costs_of(launched[0]);
  f.step = Seconds{recorded[0]};
  f.record = Seconds{recorded[1] + graph[1]};
  f.token = Seconds{recorded[2]};
  f.graph_launch = Seconds{graph[0]};
  f.issue = Seconds{std::max(eager[1] - graph[1], 0.0)};
  const auto without_read = [&](const MeasuredPoint& p) {
    return f.step + p.at("ops") * f.record + p.at("sequences") * f.token + f.graph_launch;
  };
  std::vector<double> rest, errors;
  for (const MeasuredPoint& p : exposed[1])
    if (p.at("sequences") <= kMostFitted) rest.push_back((p.median - without_read(p)).value);
  if (rest.empty())
    for (const MeasuredPoint& p : exposed[1]) rest.push_back((p.median - without_read(p)).value);
  f.sync = Seconds{std::max(quantile(rest, 0.5), 0.0)};
  for (const MeasuredPoint& p : exposed[1])
    if (p.at("sequences") > kMostFitted) errors.push_back(std::abs((without_read(p) + f.sync) / p.median - 1));
  f.unseen = count(errors);
  if (errors.empty()) {
    f.warnings.emplace_back("no batch beyond 16 was measured: how good the fit is isn't known");
  } else {
    f.median_error = quantile(errors, 0.5);
    f.worst_error = *std::max_element(errors.begin(), errors.end());
    if (f.worst_error > kWorst)
      f.warnings.emplace_back(
          "a batch that was not fitted is more than 8 % off: the host was disturbed, or its cost is no "
          "sum of ops and tokens");
  }
  for (const MeasuredPoint& p : exposed[0])
    for (const MeasuredPoint& q : exposed[1])
      if (p.at("ops") == q.at("ops") && p.at("sequences") == q.at("sequences") && p.median < q.median) {
        f.warnings.emplace_back("of " + std::to_string(p.at("layers")) + " layers and " +
                                std::to_string(p.at("sequences")) + " sequences, steps without graphs wait less");
      }
  if (credit[0].value > 0 && credit[1].value > 0) f.credit = credit[0] - credit[1];
  return f;
}

std::vector<SamplerFit> fit_samplers(const Measured& m) {
  std::map<std::string, std::vector<Row>> by_op;
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty() || (p.op != "argmax" && p.op != "top_k" && p.op != "sample")) continue;
    std::string op = p.op;
    if (const int percent = p.at("percent", 100); percent != 100) op += ", top-p";
    by_op[op].push_back({p.median, {1.0, 1.0 * p.at("rows") * p.at("columns")}});
  }
  std::vector<SamplerFit> all;
  for (const auto& [op, rows] : by_op) {
    if (rows.size() < 3) continue;
    const auto costs = costs_of(rows);
    SamplerFit f{op, Seconds{costs[0]}, Seconds{costs[1]}, 0};
    for (const Row& r : rows)
      f.worst_error = std::max(f.worst_error, std::abs((costs[0] + costs[1] * r.counts[1]) / r.time.value - 1));
    all.push_back(f);
  }
  return all;
}

}  // namespace draftline
