// SPDX-License-Identifier: Apache-2.0
// The text of a server's /metrics (Prometheus' exposition format).
#pragma once
#include <optional>
#include <string_view>

namespace draftline {

struct MetricSample {  // a line: name{label="value",..} value
  std::string_view name, labels;
  double value = 0;
};

// The sample of a line; none for a comment, and where the value is no finite number from 0.
std::optional<MetricSample> metric_sample(std::string_view line);
// The value of a label, "0" of position="0"; none without it.
std::optional<std::string_view> label_of(std::string_view labels, std::string_view label);
std::optional<int> position_of(std::string_view label);  // a whole number from 0

}  // namespace draftline
