// SPDX-License-Identifier: Apache-2.0
// Prometheus counters and gauges of speculation by vLLM, SGLang and llama.cpp. Those of several engines are summed.
#pragma once
#include <map>
#include <optional>
#include <string_view>

#include "inputs/served_acceptance.h"

namespace draftline {

class SpeculationCounters {
 public:
  // Adds a sample of a metric, whose name may have a prefix ("vllm:") and end in "_total". Other metrics are ignored.
  void add(std::string_view name, std::optional<int> position, double value);
  std::optional<ServedAcceptance> acceptance() const;
  static bool is_gauge(std::string_view name);

 private:
  double drafts_ = 0, drafted_ = 0, accepted_ = 0, gauges_ = 0;
  int gauged_ = 0;
  std::map<int, double> by_position_;
};

}  // namespace draftline
