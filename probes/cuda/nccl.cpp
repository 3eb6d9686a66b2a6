// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/nccl.h"

#include "core/int_indexed.h"

#include <numeric>
#include <string>

namespace draftline {

namespace {

constexpr int kSuccess = 0, kBf16 = 9, kSum = 0;  // ncclSuccess, ncclBfloat16, ncclSum

}  // namespace

template <class Function>
void Nccl::find(const char* name, Function*& f) const {
  if (!library_.find(name, f)) throw LinkError(std::string("libnccl.so.2 has no ") + name);
}

void Nccl::must(int result, const char* what) const {
  if (result != kSuccess) throw LinkError(std::string("NCCL failed: ") + what + ": " + words_(result));
}

Nccl::Nccl(int ranks) : library_({"libnccl.so.2", "libnccl.so"}) {
  if (!library_.here()) throw LinkError("NCCL (libnccl.so.2) can't be opened");
  find("ncclGetErrorString", words_);
  find("ncclCommInitAll", init_);
  find("ncclCommDestroy", destroy_);
  find("ncclGroupStart", start_);
  find("ncclGroupEnd", end_);
  find("ncclAllReduce", sum_);
  std::vector<int> devices(at(ranks));
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<Link*> links(devices.size());
  must(init_(links.data(), ranks, devices.data()), "joining the GPUs");
  links_ = std::move(links);
}
Nccl::~Nccl() {
  for (Link* link : links_) static_cast<void>(destroy_(link));
}

void Nccl::all_reduce(const std::vector<Message>& messages, std::size_t values) const {
  must(start_(), "a group of calls");
  int failed = kSuccess;
  for (std::size_t r = 0; r < messages.size() && failed == kSuccess; ++r)
    failed = sum_(messages[r].from, messages[r].to, values, kBf16, kSum, links_[r], messages[r].stream);
  const int ended = end_();  // even after a failure, as a group that stays open would swallow all later calls
  must(failed, "a sum over the GPUs");
  must(ended, "a sum over the GPUs");
}

}  // namespace draftline
