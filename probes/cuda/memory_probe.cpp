// SPDX-License-Identifier: Apache-2.0
// Reading and copying device memory.
#include <cstring>

#include "probes/cuda/ops.h"

namespace draftline {

void probe_memory(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const std::int64_t bytes = std::int64_t{p.at("kib")} * 1024;
  const bool copy = p.op == "copy";
  if (!fits(to_double(bytes) * (copy ? 2 : 1), p)) return;
  const Buffer from(at(bytes)), to(copy ? at(bytes) : 16);
  const Matrix<int> result(cuda::read_blocks(t.facts.multiprocessors), 1);
  cuda::fill_noise(reinterpret_cast<float*>(from.data()), bytes / 4, 3, t.stream);
  const auto read = [&](std::int64_t n) {
    cuda::read_memory(from.data(), n, t.facts.multiprocessors, reinterpret_cast<unsigned*>(result.data()), t.stream);
  };
  const std::int64_t checked = std::min<std::int64_t>(bytes, 1 << 16);
  std::vector<std::uint32_t> there(at(checked / 4));
  unsigned all = 0;
  if (copy) {
    cuda::copy_memory(from.data(), bytes, t.facts.multiprocessors, to.data(), t.stream);
    t.stream.wait();
    must(cudaMemcpy(there.data(), to.data() + bytes - checked, at(checked), cudaMemcpyDeviceToHost), "reading back");
  } else {
    read(checked);
    t.stream.wait();
    for (int b = 0; b < result.rows; ++b) all ^= static_cast<unsigned>(to_int64(result.row(b)[0]));
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    const auto at = static_cast<std::uint64_t>(copy ? (bytes - checked) / 4 : 0) + i;
    std::uint32_t bits;
    const float v = noise(3 + at);
    std::memcpy(&bits, &v, sizeof bits);
    if (!copy) all ^= bits;
    else if (bits != there[i]) p.skipped = kDiffers;
  }
  if (all != 0) p.skipped = kDiffers;
  if (!p.skipped.empty()) return;
  t.time_kernels(p, time_budget, 1, [&](int) {
    if (copy) cuda::copy_memory(from.data(), bytes, t.facts.multiprocessors, to.data(), t.stream);
    else read(bytes);
  });
}

}  // namespace draftline
