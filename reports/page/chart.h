// SPDX-License-Identifier: Apache-2.0
// A chart of a report: series of points over two axes, as an element of HTML: a drawing in SVG, and the series' names
// below it. Colours are those of the page around it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/interval.h"

namespace draftline {

struct ChartAxis {
  std::string title;                      // "batch size"
  bool logarithmic = false;               // values that are not positive are left out
  std::string (*text)(double) = nullptr;  // of a value; null: three significant digits
  bool few_values = false;                // these are marked, if there is room, and no round ones: batch sizes
};

struct ChartPoint {
  double x = 0, y = 0;                    // a point with a value that is not finite is left out
  std::optional<Interval> interval = {};  // of y
  std::string label = {};                 // shown with its values when the pointer is on it
  std::string name = {};                  // written next to the point, if there is room
  bool dot = true;                        // otherwise it is seen only when it is pointed at
};

struct Series {
  std::string name;
  std::vector<ChartPoint> points;
  bool joined = true;  // by a line in their order, with a band for the intervals; otherwise each has a bar for its own
};

struct Chart {
  std::string title;
  ChartAxis x, y;
  std::vector<Series> series;
  std::optional<double> level = {};  // a dashed horizontal line, and its name
  std::string level_name = {};
  struct Limit {
    double x;
    std::string name;
  };
  std::vector<Limit> limits = {};  // dashed vertical lines

  bool empty() const;  // whether no point can be drawn
};

// The colour and dashes of each series of a page, the same in all charts. Names take them in order; after 24 they begin
// again.
class SeriesStyles {
 public:
  std::string of(const std::string& series);  // as classes of html_page

 private:
  std::vector<std::string> names_;
};

std::string to_html(const Chart&, SeriesStyles& of_page);  // "" of an empty one

// Whether a logarithmic axis shows these values better: all positive, the largest at least 8 times the smallest.
bool far_apart(const std::vector<double>&);

}  // namespace draftline
