// SPDX-License-Identifier: Apache-2.0
#include "model/devices/cpu_model.h"

#include "model/devices/fit_fields.h"

namespace draftline {

static Seconds duration(const Reader& in) { return in.quantity<Seconds>(0.0); }
static double positive(const Reader& in) { return in.number(1e-12, 1e6); }

static CpuByteCost read_byte_cost(Reader in) {
  return {{duration(in.at("l2_byte", "second_byte")), duration(in.at("llc_byte", "last_byte")),
           duration(in.at("memory_byte"))},
          positive(in.at("cache_share")),
          positive(in.at("llc_share", "last_share"))};
}

CpuModel read_cpu_model(Reader in, Bytes llc) {
  CpuModel f;
  const Reader caches = in.at("caches"), gemm = in.at("gemm"), attention = in.at("attention"),
               elementwise = in.at("elementwise");
  f.caches = {caches.at("l1", "first").quantity<Bytes>(), caches.at("l2", "second").quantity<Bytes>(), llc};
  caches.done();
  f.gemm = read_fields<CpuGemmFit>(gemm);
  f.co_runner_traffic = gemm.at("co_runner_traffic", "inflow").quantity<BytesPerSecond>();
  f.gemm.origin = read_origin(gemm);
  gemm.done();
  f.attention = read_fields<CpuAttentionFit>(attention);
  f.attention.origin = read_origin(attention);
  attention.done();
  f.elements.origin = read_origin(elementwise);
  f.elements.byte = elementwise.at("byte").quantity<Seconds>();
  f.elements.beyond_l2_byte = duration(elementwise.at("beyond_l2_byte", "far_byte"));
  if (const auto byte = elementwise.find("beyond_l1_byte", "beyond_first_byte"))
    f.elements.beyond_l1_byte = duration(*byte);
  if (const auto slow = elementwise.find("slow_for")) {
    f.elements.slow_for = duration(*slow);
    f.elements.slow_clock = elementwise.at("slow_clock").number(1, 10);
  }
  if (const auto lines = elementwise.find("lines")) {
    f.elements.lines = read_byte_cost(*lines);
    lines->done();
  }
  const Reader ops = elementwise.at("ops");
  for (const auto& [name, op] : kElementOps) {
    const auto given = ops.find(name);
    if (!given && may_be_unprobed(op)) {
      f.elements.of[op] = f.elements.of[ElementOp::silu_mul];
      continue;
    }
    const Reader one = given ? *given : ops.at(name);
    f.elements.of[op].fixed = duration(one.at("fixed"));
    if (op != ElementOp::add) f.elements.of[op].element = duration(one.at("element"));
    one.done();
  }
  ops.done();
  elementwise.done();
  in.done();
  return f;
}

}  // namespace draftline
