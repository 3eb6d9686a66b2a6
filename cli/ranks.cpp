// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks.h"

#include <cstdlib>
#include <iostream>

#include "core/errors.h"

#ifdef DRAFTLINE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace draftline::cli {

#ifdef DRAFTLINE_MPI

static void must(int code) { check(code == MPI_SUCCESS, "MPI"); }

Ranks::Ranks() {
  const char* started = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (started == nullptr || std::atoi(started) < 2) return;
  int provided = 0, rank = 0, size = 1;
  must(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
  check(provided >= MPI_THREAD_SERIALIZED, "this MPI knows no threads");
  must(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  must(MPI_Comm_size(MPI_COMM_WORLD, &size));
  rank_ = static_cast<std::size_t>(rank);
  size_ = static_cast<std::size_t>(size);
  if (rank_ != 0) std::cerr.rdbuf(nullptr);  // all of them meet the same mistakes: one tells
}

Ranks::~Ranks() {
  if (size_ > 1) MPI_Finalize();
}

void Ranks::send(const std::string& bytes) const {
  must(MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, 0, MPI_COMM_WORLD));
}

std::string Ranks::receive(std::size_t block) const {
  const int from = static_cast<int>(block % size_);
  MPI_Status status;
  must(MPI_Probe(from, 0, MPI_COMM_WORLD, &status));
  int bytes = 0;
  must(MPI_Get_count(&status, MPI_BYTE, &bytes));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  must(MPI_Recv(text.data(), bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  return text;
}

#else

Ranks::Ranks() {
  if (const char* started = std::getenv("OMPI_COMM_WORLD_SIZE"); started != nullptr && std::atoi(started) > 1)
    throw InputErrors("this draftline was built without MPI: install libopenmpi-dev and build it anew");
}
Ranks::~Ranks() = default;
void Ranks::send(const std::string&) const {}
std::string Ranks::receive(std::size_t) const { return {}; }

#endif

}  // namespace draftline::cli
