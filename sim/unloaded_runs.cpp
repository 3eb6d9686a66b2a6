// SPDX-License-Identifier: Apache-2.0
#include "sim/unloaded_runs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace draftline {

UnloadedServer unloaded_server(const Serving& serving, const ServingChoice& choice, const Setup& setup,
                               const SchedulerLimits& limits) {
  constexpr std::array<std::string_view, 3> kOfLoad{"rate", "max_num_seqs", "max_batch_size"};
  UnloadedServer server{{}, setup.prompt_tokens, setup.output_tokens, shares_prefixes(choice.workload), limits};
  server.limits.max_num_seqs = 1;
  for (std::size_t i = 0; i < serving.axes.size(); ++i)
    if (std::find(kOfLoad.begin(), kOfLoad.end(), serving.axes[i]) == kOfLoad.end())
      server.choice.push_back(choice.varying[i]);
  return server;
}

Workload one_by_one(Workload w) {
  w.arrivals = {ArrivalProcess::Kind::closed};
  w.arrivals.concurrency = 1;
  w.arrival_trace = nullptr;
  return w;
}

// A KV pool of another size changes nothing where both hold every request and no prompt's blocks are kept for others.
bool UnloadedRuns::alike(const Known& k, const UnloadedServer& server, int rows) {
  if (k.server == server) return true;
  UnloadedServer same_pool = server;
  same_pool.limits.kv_blocks = k.server.limits.kv_blocks;
  const ServingFigures& f = k.run.figures;
  return k.server == same_pool && !server.shares_prefixes && f.refused == 0 &&
         server.limits.blocks_for(f.longest_text + rows) <= server.limits.kv_blocks;
}

}  // namespace draftline
