// SPDX-License-Identifier: Apache-2.0
// Runs the built program under mpirun, with more ranks than cores if need be.
#pragma once
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
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

// What `command` writes to standard error in `draftline`'s folder goes to ranks_err. detect_leaks: Open MPI keeps some
// memory to the end. tmpdir: two runs at a time trip over a folder that they share. HWLOC: it complains where /sys is
// not mounted.
inline int shell_of_ranks(const Program& draftline, const std::string& command) {
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  return std::system(("cd '" + folder + "' && HWLOC_HIDE_ERRORS=2 ASAN_OPTIONS=detect_leaks=0 " +
                      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_orte_tmpdir_base='" + folder +
                      "' timeout -k 10 120 " + command + " 2> ranks_err")
                         .c_str());
}

inline Ran mpirun(const Program& draftline, const std::vector<OfRanks>& all) {
  std::string command;
  for (const OfRanks& some : all)
    command += (command.empty() ? "mpirun --oversubscribe -n " : " : -n ") + std::to_string(some.ranks) +
               " '" DRAFTLINE_PROGRAM "' " + some.arguments;
  const int status = shell_of_ranks(draftline, command + " > ranks_out");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, draftline.read("ranks_out"), draftline.read("ranks_err")};
}

// `err` without the lines that MPI writes here in any run, however quiet. Digits may be a process's number.
inline std::string without_words_of_mpi(const Program& draftline, const std::string& err) {
  if (err.empty()) return err;
  draftline.write("quiet.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}})");
  const auto lines = [](const std::string& text, const auto& use) {
    std::istringstream in(text);
    for (std::string line, words; std::getline(in, line); use(line, words)) {
      words.clear();
      std::remove_copy_if(line.begin(), line.end(), std::back_inserter(words), [](char c) { return std::isdigit(c); });
    }
  };
  std::set<std::string> of_mpi;
  lines(mpirun(draftline, {{2, "run quiet.json"}}).err,
        [&](const std::string&, const std::string& words) { of_mpi.insert(words); });
  std::string ours;
  lines(err, [&](const std::string& line, const std::string& words) {
    if (!of_mpi.contains(words)) ours += line + "\n";
  });
  return ours;
}

}  // namespace draftline
