// SPDX-License-Identifier: Apache-2.0
// The process of the program: its standard streams, signals and rank.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "cli/command.h"
#include "cli/interruptible.h"
#include "cli/program.h"

namespace draftline::cli {

namespace {

void interrupted(int signal) { _exit(exit_code_of_signal(signal)); }

// Opens /dev/null, for reading only, in place of standard streams that are closed. Otherwise the next opened file would
// have such a stream's number, and output would be written to that file.
void keep_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", O_RDONLY) == -1) _exit(kDevice);
}

// Redirects the output of a rank other than 0 to /dev/null.
void fall_silent() {
  const int nowhere = open("/dev/null", O_WRONLY);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (nowhere == -1 || dup2(nowhere, stream) == -1) _exit(kDevice);
  close(nowhere);
}

}  // namespace

}  // namespace draftline::cli

int main(int argc, char** argv) {
  namespace cli = draftline::cli;
  cli::keep_standard_streams();
  cli::on_ending_signals(cli::interrupted);
  for (const int write_fails : {SIGPIPE, SIGXFSZ}) std::signal(write_fails, SIG_IGN);
  const cli::Launched l = cli::launched();
  if (l.rank > 0) {
    cli::fall_silent();
    cli::Interruptible::always_ask();
  }
  return cli::run_program(argc, argv, l);
}
