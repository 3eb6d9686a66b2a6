// SPDX-License-Identifier: Apache-2.0
// Runs the built program under mpirun, with more ranks than cores if need be.
#pragma once
#include <filesystem>
#include <vector>

#include "tests/cli/program.h"

namespace draftline {

// Each item: so many ranks, and the command line of each of them.
struct OfRanks {
  int ranks;
  std::string arguments;
};

// Why the tests of ranks can't run; "": they can.
inline std::string no_ranks() {
#ifdef DRAFTLINE_MPI
  return std::system("command -v mpirun > /dev/null 2>&1") == 0 ? "" : "needs mpirun (openmpi-bin)";
#else
  return "built without MPI";
#endif
}

inline Ran mpirun(const Program& draftline, const std::vector<OfRanks>& all) {
  std::string command;
  for (const OfRanks& some : all)
    command += (command.empty() ? "mpirun --oversubscribe -n " : " : -n ") + std::to_string(some.ranks) +
               " '" DRAFTLINE_PROGRAM "' " + some.arguments;
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  // detect_leaks: Open MPI keeps some memory to the end. tmpdir: two runs at a time trip over a folder that they share.
  const int status = std::system(("cd '" + folder + "' && ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 " +
                                  "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_orte_tmpdir_base='" + folder +
                                  "' timeout -k 10 120 " + command + " > ranks_out 2> ranks_err")
                                     .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, draftline.read("ranks_out"), draftline.read("ranks_err")};
}

}  // namespace draftline
