// SPDX-License-Identifier: Apache-2.0
// All-reduces over the GPUs of this machine in one process, by NCCL (libnccl.so.2, which is opened when it is first
// needed). A call that fails throws LinkError with NCCL's message.
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/library.h"

namespace draftline {

class LinkError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Nccl {
 public:
  explicit Nccl(int ranks);  // a communicator of the first `ranks` devices
  ~Nccl();
  Nccl(const Nccl&) = delete;
  int ranks() const { return count(links_); }
  struct Message {  // one rank's values, in bf16
    const void* from;
    void* to;
    cudaStream_t stream;
  };
  void all_reduce(const std::vector<Message>&, std::size_t values) const;  // messages of all ranks, in order

 private:
  struct Link;
  template <class Function>
  void find(const char* name, Function*& f) const;
  void must(int result, const char* what) const;
  cuda::Library library_;
  std::vector<Link*> links_;
  int (*init_)(Link**, int, const int*) = nullptr;
  int (*destroy_)(Link*) = nullptr;
  int (*start_)() = nullptr;
  int (*end_)() = nullptr;
  int (*sum_)(const void*, void*, std::size_t, int, int, Link*, cudaStream_t) = nullptr;
  const char* (*words_)(int) = nullptr;
};

}  // namespace draftline
