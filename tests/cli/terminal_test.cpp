// SPDX-License-Identifier: Apache-2.0
// What the program shows on a terminal: tables as wide as it is, and progress.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>

#include "tests/cli/program.h"

namespace draftline {

namespace {

bool has_terminals() {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal >= 0) close(terminal);
  return terminal >= 0;
}

// What a command shows on a terminal until it ends, or until `enough` of what it has shown; it is killed then.
std::string on_terminal(const std::string& command, unsigned short columns,
                        const std::function<bool(const std::string&)>& enough = {}) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const winsize size{.ws_row = 40, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(ioctl(terminal, TIOCSWINSZ, &size) == 0);
  const std::string name = ptsname(terminal);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int end = open(name.c_str(), O_RDWR);
    dup2(end, STDOUT_FILENO);
    dup2(end, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  std::string shown;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline && !(enough && enough(shown))) {
    pollfd ready{terminal, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    char some[4096];
    const ssize_t n = read(terminal, some, sizeof some);
    if (n <= 0) break;  // the command has ended
    shown.append(some, static_cast<std::size_t>(n));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(terminal);
  return shown;
}

// The widest line of tables: the rules below their titles.
std::size_t width_of_tables(const std::string& shown) {
  std::istringstream lines(shown);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    if (starts_with(line, "--")) widest = std::max(widest, line.size() - (ends_with(line, "\r") ? 1 : 0));
  return widest;
}

const std::string kProgram = "'" DRAFTLINE_PROGRAM "' ", kScenarios = std::string(DRAFTLINE_SOURCE_DIR) + "/scenarios/";

}  // namespace

TEST_CASE("tables are no wider than the terminal", "[once]") {
  if (!has_terminals()) SKIP_TEST("this system has no pseudo-terminals");
  for (const auto& [verb, scenario] :
       {std::pair("run", "when_to_switch_off"), std::pair("run", "tensor_parallel"), std::pair("run", "context_length"),
        std::pair("advise --no-load", "draft_budget"), std::pair("simulate", "serving_load"),
        std::pair("plan", "cheapest_fleet")})
    for (const unsigned short columns : {std::uint16_t{80}, std::uint16_t{120}}) {
      INFO(verb << " " << scenario << " at " << columns);
      const std::string shown = on_terminal(kProgram + verb + " " + kScenarios + scenario + ".json", columns);
      CHECK(width_of_tables(shown) > 40);
      CHECK(width_of_tables(shown) <= columns);
    }
}

TEST_CASE("progress is shown while a single piece of work takes long") {
  if (!has_terminals()) SKIP_TEST("this system has no pseudo-terminals");
  const Program draftline;
  draftline.write("long.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, "slo": {"ttft_p99": "1 s"},
    "workload": {"arrivals": {"process": "poisson", "rate": "100 /s"}, "requests": 3000000}})");
  const std::string shown = on_terminal(kProgram + "plan '" + draftline.path("long.json") + "'", 80,
                                        [](const std::string& s) { return contains(s, "s so far"); });
  CHECK(contains(shown, "planning ["));
  CHECK(contains(shown, "0 %, "));
}

}  // namespace draftline
