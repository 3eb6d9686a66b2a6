// SPDX-License-Identifier: Apache-2.0
#include "model/devices/datasheet.h"

#include <set>

namespace draftline {
namespace {

void read_peaks(Reader in, Device& d, std::set<std::string>& seen) {
  for (const auto& [key, value] : in.entries()) {
    const auto type = dtype_named(key);
    if (!type || *type == DType::int32) {
      value.fail("unknown number format; a peak is given for fp32, bf16, fp16, fp8, int8, int4 or fp4");
      continue;
    }
    if (!seen.insert("peak of " + key).second) value.fail("given twice in this datasheet");
    d.peak[*type] = value.quantity<FlopsPerSecond>();
  }
}

}  // namespace

void read_datasheet(const Reader& blocks, Device& d) {
  std::set<std::string> seen;
  for (const Reader& block : blocks.items()) {
    d.datasheet.push_back(read_origin(block));
    const auto once = [&](const char* key) -> std::optional<Reader> {
      const auto found = block.find(key);
      if (found && !seen.insert(key).second) found->fail("given twice in this datasheet");
      return found;
    };
    if (const auto v = once("bandwidth")) d.bandwidth = v->quantity<BytesPerSecond>();
    if (const auto v = once("memory")) d.memory = v->quantity<Bytes>();
    if (const auto v = once("l2")) d.l2 = v->quantity<Bytes>();
    if (const auto v = once("multiprocessors")) d.multiprocessors = v->positive_int(100000);
    if (const auto v = once("power_watts")) d.power_watts = v->number(1, 1e5);
    if (const auto v = block.find("peak")) read_peaks(*v, d, seen);
    block.done();
  }
  if (!d.datasheet.empty()) d.source = d.datasheet.front().source;
  for (const char* key : {"bandwidth", "memory", "l2", "multiprocessors", "peak of fp32"})
    if (!seen.contains(key)) blocks.fail("no block gives the " + std::string(key));
  if (!seen.contains("peak of bf16") && !seen.contains("peak of fp16"))
    blocks.fail("no block gives the peak of bf16, or of fp16 for a device without bf16");
}

}  // namespace draftline
