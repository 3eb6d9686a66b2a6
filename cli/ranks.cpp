// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "core/errors.h"
#include "core/packed.h"

#ifdef DRAFTLINE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace draftline::cli {

Launched launched() {
  const auto number = [](const char* name, std::size_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : at(std::max(0, std::atoi(text)));
  };
  const Launched l{number("OMPI_COMM_WORLD_RANK", 0), number("OMPI_COMM_WORLD_SIZE", 1)};
  return l.rank < l.size ? l : Launched{};
}

std::optional<Ranks::Message> Ranks::receive_unless(const std::function<bool()>& given_up) const {
  using namespace std::chrono_literals;
  constexpr std::chrono::microseconds kLongest = 500us;
  for (auto pause = 20us; !given_up(); pause = std::min(2 * pause, kLongest)) {
    if (auto message = received()) return message;
    std::this_thread::sleep_for(pause);
  }
  return std::nullopt;
}

Ranks::Message Ranks::receive() const {
  return *receive_unless([] { return false; });
}

#ifdef DRAFTLINE_MPI

static void must(int code) { check(code == MPI_SUCCESS, "MPI"); }

// Waits, for a second at most, until mpirun has read what was written to a stream: after a failure it drops the rest.
static void wait_for_reader(int stream) {
  using namespace std::chrono_literals;
  struct stat what {};
  if (fstat(stream, &what) != 0 || !S_ISFIFO(what.st_mode)) return;
  int unread = 0;
  for (int i = 0; i < 1000 && ioctl(stream, FIONREAD, &unread) == 0 && unread > 0; ++i)
    std::this_thread::sleep_for(1ms);
}

Ranks::Ranks(Launched l) : rank_(l.rank), size_(l.size) {
  if (size_ == 1) return;
  int provided = 0, rank = 0, size = 1;
  must(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  check(provided >= MPI_THREAD_SERIALIZED, "this MPI knows no threads");
  must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  must(MPI_Comm_size(MPI_COMM_WORLD, &size));
  rank_ = at(rank);
  size_ = at(size);
}

int Ranks::end(Ending own, const std::function<void(const Ending&)>& say) {
  if (size_ == 1 || first()) say(own);
  if (size_ == 1) return own.code;
  if (first()) {
    own.code = end_others(std::move(own), say);
  } else {
    std::array<char, MPI_MAX_PROCESSOR_NAME> machine{};
    int length = 0;
    must(MPI_Get_processor_name(machine.data(), &length));
    const std::string who = "rank " + std::to_string(rank_) + " (" + machine.data() + "): ";
    for (std::string& message : own.messages) message.insert(0, who);
    send(0, About::ended, pack(own));
    while (receive().about != About::leave) {}
    own.code = 0;
  }
  MPI_Finalize();
  return own.code;
}

int Ranks::end_others(Ending ending, const std::function<void(const Ending&)>& say) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLongest{10};
  send_to_others(About::stop);
  auto start = Clock::now();
  const auto failed = [](const Ending& e) { return !e.messages.empty(); };
  while (ended_ < size_ - 1) {
    const auto m = receive_unless([&] { return failed(ending) && Clock::now() - start > kLongest; });
    if (!m) break;
    if (m->about != About::ended || failed(ending)) continue;
    if (auto other = unpack<Ending>(m->bytes); failed(other)) {
      say(ending = std::move(other));
      start = Clock::now();
    }
  }
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) wait_for_reader(stream);
  // mpirun may crash or hang when ranks are aborted, above all while others start or end: it is the last resort.
  if (ended_ < size_ - 1) MPI_Abort(MPI_COMM_WORLD, ending.code);
  send_to_others(About::leave);
  return ending.code;
}

void Ranks::send_to_others(About about) const {
  for (std::size_t other = 0; other < size_; ++other)
    if (other != rank_) send(other, about);
}

void Ranks::send(std::size_t to, About about, std::string_view bytes) const {
  const std::lock_guard lock(mutex_);
  must(MPI_Send(bytes.data(), count(bytes), MPI_BYTE, to_int(to), to_int(about), MPI_COMM_WORLD));
}

std::optional<Ranks::Message> Ranks::received() const {
  const std::lock_guard lock(mutex_);
  int there = 0, bytes = 0;
  MPI_Status status;
  must(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status));
  if (there == 0) return std::nullopt;
  must(MPI_Get_count(&status, MPI_BYTE, &bytes));
  Message m{at(status.MPI_SOURCE), static_cast<About>(status.MPI_TAG), std::string(at(bytes), '\0')};
  must(MPI_Recv(m.bytes.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  if (m.about == About::ended) ++ended_;
  return m;
}

#else

Ranks::Ranks(Launched l) {
  if (l.size > 1) throw InputErrors("this draftline was built without MPI: install libopenmpi-dev and build again");
}
int Ranks::end(Ending own, const std::function<void(const Ending&)>& say) {
  say(own);
  return own.code;
}
void Ranks::send(std::size_t, About, std::string_view) const {}
std::optional<Ranks::Message> Ranks::received() const { return std::nullopt; }

#endif

}  // namespace draftline::cli
