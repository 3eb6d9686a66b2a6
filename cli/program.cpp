// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/interruptible.h"
#include "core/build_info.h"
#include "core/errors.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"

namespace draftline::cli {

namespace {

// Has std::cout and std::cerr write to other streams. No terminal is asked about its width then.
class Redirected {
 public:
  Redirected(std::ostream& out, std::ostream& err)
      : out_(std::cout.rdbuf(out.rdbuf())), err_(std::cerr.rdbuf(err.rdbuf())) {
    std::cout.clear();
    std::cerr.clear();
    active = true;
  }
  ~Redirected() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
    active = false;
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;
  static inline bool active = false;

 private:
  std::streambuf *out_, *err_;
};

}  // namespace

bool is_terminal(int stream) { return !Redirected::active && isatty(stream) != 0; }

void print_note(const std::string& note) { std::cerr << printable(note, note.npos) + "\n"; }

int text_width() {
  constexpr int kOfFiles = 120;
  winsize size{};
  if (!is_terminal(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kOfFiles;
  return size.ws_col;
}

Output to_standard_output(Format format, Asked asked) {
  return {std::cout, format, std::move(asked), at(text_width())};
}

int interrupted_after(std::size_t done, std::size_t points) {
  if (done >= points) return kFine;
  std::cerr << "interrupted after " << done << " of " << points << " points; continue with --from " << done << "\n";
  return Interruptible::exit_code();
}

namespace {

// The folder data/ of the installed program, or that of the source tree.
std::filesystem::path find_data() {
  std::error_code none;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", none);
  if (!none) {
    const auto installed = program.parent_path() / DRAFTLINE_INSTALLED_DATA_DIR;
    if (std::filesystem::is_directory(installed, none)) return installed;
  }
  return DRAFTLINE_DATA_DIR;
}

// Messages may quote a user's file, so control characters are escaped. All of them are written at once: mpirun would
// print words of its own between two parts.
void say(const Ending& ending) {
  if (ending.silent) return;
  std::string lines;
  for (const std::string& m : ending.messages) lines += printable(m, m.npos) + "\n";
  std::cerr << lines;
}

// Whether standard output is a pipe that was written to and that nobody reads any more, as after `| head`.
bool reader_has_left() {
  pollfd out{STDOUT_FILENO, 0, 0};  // POLLERR is reported unasked
  return !std::cout && poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// The result of act(), with exceptions converted to exit codes and messages.
template <class Act>
Ending ending_of(Act act) {
  try {
    return {act(), {}};
  } catch (const RankFailed& e) { return e.ending(); } catch (const InputErrors& e) {
    return {kInput, e.messages()};
  } catch (const DeviceError& e) { return {kDevice, {e.what()}}; } catch (const OutputError& e) {
    return {kDevice, {e.what()}, reader_has_left()};
  } catch (const std::bad_alloc&) { return {kDevice, {"out of memory"}}; } catch (const std::exception& e) {
    return {kBug, {std::string("a bug in draftline, please report it: ") + e.what()}};
  }
}

// A line that names the verb that is meant, if the command line has none; or "".
std::string about_verb(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining();
  if (!app.get_subcommands().empty() || words.empty() || words.front().starts_with('-')) return {};
  std::vector<std::string> verbs;
  std::string all;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
    all += (all.empty() ? "" : ", ") + verb->get_name();
  }
  const auto near = nearest_word(words.front(), verbs);
  return "unknown verb " + in_quotes(words.front()) +
         (near ? "; did you mean \"" + *near + "\"?" : "; they are " + all) + "\n";
}

int act(const Action& chosen, const std::filesystem::path& data, Launched l) {
  if (chosen.ranks != AcrossRanks::shares && l.rank > 0) return kFine;
  if (chosen.ranks == AcrossRanks::refuses && l.size > 1)
    throw InputErrors("this verb measures one machine with one process: start it without mpirun");
  if (chosen.ranks == AcrossRanks::first_alone) l = {};
  Ranks ranks(l);
  const Ending ending = ending_of([&] {
    const int code = chosen.run({data, ranks});
    std::cout.flush();
    if (!std::cout) throw OutputError("standard output can't be written");
    return code;
  });
  std::cout.flush();
  return ranks.end(ending, say);
}

int run(int argc, const char* const* argv, Launched l) {
  CLI::App app{
      "draftline predicts throughput, latency and memory of speculative decoding for every method, GPU and batch\n"
      "size, with a breakdown of the costs. Start with: draftline ask --model Qwen/Qwen3-8B --gpu h100"};
  app.set_version_flag("--version",
                       "draftline " + std::string(build_version()) + " (" + std::string(build_commit()) + ")");
  app.require_subcommand(1);
  app.fallthrough();
  std::filesystem::path data = find_data();
  app.add_option("--data", data, "the folder data/ (devices, transformers, engines, papers)")
      ->check(CLI::ExistingDirectory);
  app.footer(
      "Exit codes: 0 success; 1 a check failed, or no option of a plan meets its targets; 2 wrong input, or no\n"
      "point can run; 3 device error; 4 a bug in draftline.");
  Action chosen;
  add_ask(app, chosen);
  add_run(app, chosen);
  add_simulate(app, chosen);
  add_plan(app, chosen);
  add_advise(app, chosen);
  add_from(app, chosen);
  add_papers(app, chosen);
  add_decode(app, chosen);
  add_probe(app, chosen);
  add_calibrate(app, chosen);
  add_validate(app, chosen);
  add_check(app, chosen);
  add_list(app, chosen);
  add_traces(app, chosen);
  add_schema(app, chosen);
  add_completion(app, chosen);
  add_man(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    std::ostringstream wrong;
    const int code = app.exit(e, std::cout, wrong);
    std::cerr << (code == 0 ? "" : about_verb(app)) << wrong.str();
    if (!std::cout.flush()) throw OutputError("standard output can't be written");
    if (code == 0) return kFine;
    // A file may be missing on this rank's machine alone.
    return Ranks(l).end({kInput, {e.what()}}, [](const Ending&) {});
  }
  return act(chosen, data, l);
}

}  // namespace

int run_program(int argc, const char* const* argv, Launched l) {
  const Ending ending = ending_of([&] { return run(argc, argv, l); });
  say(ending);
  return ending.code;
}

int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  const Redirected streams(out, err);
  std::vector<const char*> argv{"draftline"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run_program(count(argv), argv.data(), {});
}

}  // namespace draftline::cli
