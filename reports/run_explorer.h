// SPDX-License-Identifier: Apache-2.0
// The explorer of `draftline run --html` (page/explorer.js): the figures of all points of a grid, as JSON, with the
// best draft length of each cell and the line that starts an engine. Figures are rounded as in tables.
#pragma once
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/sweep.h"
#include "reports/page/page.h"
#include "reports/point.h"

namespace draftline {

class RunExplorer {
 public:
  explicit RunExplorer(const Scenario&);  // the scenario must outlive the explorer
  void add(const Outcome&);
  void leave_out() { figures_.clear(); }  // of a report that has only some of the points
  // Whether two lists or more have several values, a method speculates, and there is a number to draw along: a batch
  // size, a length or a draft length.
  bool explores() const { return !figures_.empty(); }
  void show_on(Page&) const;  // nothing unless it explores

  // The best draft length over batch and prompt of the first setup and method, as a drawing for pages without scripts.
  // None unless there are several lengths, batches and prompts.
  std::optional<HeatMap> best_lengths() const;

 private:
  struct Best {
    std::size_t point;
    double speedup;
  };
  std::size_t number_of(const Point&) const;
  std::string key_of(const Point&) const;  // of a cell, in which draft lengths compete
  std::string data() const;
  // The methods that compete with one: of its group, with its acceptance; itself included.
  std::vector<std::size_t> rivals_of(std::size_t method) const;
  bool any_runs(Point, const std::vector<std::size_t>& methods) const;  // the point with one of these methods

  const Scenario& scenario_;
  std::vector<std::size_t> groups_;                // by method
  std::vector<std::vector<std::string>> figures_;  // by figure and point, as JSON
  std::map<std::string, Best> best_;
  std::map<std::size_t, std::string> lines_;  // by setup and method
};

}  // namespace draftline
