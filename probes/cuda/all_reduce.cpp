// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/all_reduce.h"

#include "core/int_indexed.h"

namespace draftline {

namespace {

struct Rank {
  int device;
  cuda::Stream stream;
  Buffer from, to;
  Rank(int d, std::size_t bytes) : device(d), from(bytes), to(bytes) {}  // allocates on the current device
};

// Calls `each` for every rank with its device current. Device 0 is current again afterwards, even if a call throws.
template <class Each>
void on_each(std::vector<std::unique_ptr<Rank>>& ranks, Each each) {
  struct Back {
    ~Back() { static_cast<void>(cudaSetDevice(0)); }
  } back;
  for (auto& r : ranks) {
    must(cudaSetDevice(r->device), "choosing a device");
    each(*r);
  }
}

std::uint64_t noise_of(int rank) { return 1 + static_cast<std::uint64_t>(rank) * 1'000'000'007; }

}  // namespace

void AllReduceProbe::measure(MeasuredPoint& p, Seconds time_budget) {
  const int ranks = p.at("ranks");
  if (ranks > timer_.devices) {
    p.skipped = "needs " + std::to_string(ranks) + " GPUs; this machine has " + std::to_string(timer_.devices);
    return;
  }
  try {
    if (ranks_ != ranks) {
      ranks_ = ranks;
      missing_.clear();
      nccl_.reset();
      nccl_ = std::make_unique<Nccl>(ranks);
    }
    if (missing_.empty()) return measure_linked(p, time_budget);
  } catch (const LinkError& e) {
    missing_ = e.what();
    nccl_.reset();
  }
  must(cudaSetDevice(0), "choosing a device");
  p.skipped = missing_;
}

void AllReduceProbe::measure_linked(MeasuredPoint& p, Seconds time_budget) {
  const int ranks = p.at("ranks");
  const std::size_t bytes = at(p.at("kib")) * 1024, values = bytes / sizeof(bf16);
  if (!fits(2.0 * to_double(bytes), p)) return;
  std::vector<std::unique_ptr<Rank>> all;
  std::vector<Nccl::Message> messages;
  for (int r = 0; r < ranks; ++r) {
    must(cudaSetDevice(r), "choosing a device");
    Rank& rank = *all.emplace_back(std::make_unique<Rank>(r, bytes));
    cuda::fill_noise(reinterpret_cast<bf16*>(rank.from.data()), to_int64(values), noise_of(r), rank.stream);
    messages.push_back({rank.from.data(), rank.to.data(), rank.stream});
  }
  must(cudaSetDevice(0), "choosing a device");
  const auto wait = [&] { on_each(all, [](Rank& r) { r.stream.wait(); }); };
  nccl_->all_reduce(messages, values);
  wait();
  const std::size_t checked = std::min<std::size_t>(values, 256);
  std::vector<bf16> there(checked);
  must(cudaMemcpy(there.data(), all.back()->to.data() + bytes - checked * sizeof(bf16), checked * sizeof(bf16),
                  cudaMemcpyDeviceToHost),
       "reading back");
  for (std::size_t i = 0; i < checked; ++i) {
    double sum = 0;
    for (int r = 0; r < ranks; ++r) sum += noise_at(noise_of(r) + values - checked + i);
    if (!close(cuda::to_float(there[i]), sum, ranks)) {
      p.skipped = kDiffers;
      return;
    }
  }

  constexpr double kLeastSeconds = 200e-6;
  constexpr int kMostNodes = 200;
  cuda::Event before, after;
  before.record(all[0]->stream);
  nccl_->all_reduce(messages, values);
  after.record(all[0]->stream);
  wait();
  const int nodes = std::clamp(to_int(kLeastSeconds / std::max(after.seconds_since(before), 1e-7)), 4, kMostNodes);
  std::vector<cuda::Capture> captures;
  on_each(all, [&](Rank& r) { captures.emplace_back(r.stream); });
  for (int i = 0; i < nodes; ++i) nccl_->all_reduce(messages, values);
  std::vector<cuda::GraphExec> graphs;
  on_each(all, [&](Rank& r) { graphs.emplace_back(captures[at(r.device)].end()); });
  timer_.take_samples(p, time_budget, [&] {
    // The first rank, whose events are read, starts last, when all others wait for it.
    for (std::size_t r = all.size(); r-- > 0;) {
      must(cudaSetDevice(to_int(r)), "choosing a device");
      if (r == 0) before.record(all[0]->stream);
      graphs[r].run(all[r]->stream);
    }
    after.record(all[0]->stream);
    wait();
    return std::max(after.seconds_since(before) / nodes, 1e-9);
  });
}

}  // namespace draftline
