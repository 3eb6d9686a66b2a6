// SPDX-License-Identifier: Apache-2.0
// What a transfer of fits costs: each card with fits of its own is left out in turn, and its kernels are priced by the
// fits of the nearest other card at its own datasheet. data/transfer.json has the spread, docs/explanation/accuracy.md
// the table. The RTX PRO 6000 is left out of both: it is predicted blind.
#include "model/devices/transfer_spread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "model/calibration/kernel_fit.h"
#include "model/devices/fit_quality.h"
#include "model/kernels/gpu_time.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

constexpr std::array kMeasured{"a100-sxm", "h100-sxm", "h200", "l40s", "rtx-4090", "b200", "gb200", "b300", "gb300"};
constexpr const char* kBlind = "rtx-pro-6000";

// Of a card by its own fits over that by a relative's, or the cards' times themselves.
using Ratios = EnumArray<TransferredKernel, std::vector<double>, kTransferredKernels.size()>;

double distance(const Device& a, const Device& b) {
  return std::abs(std::log(a.bandwidth / b.bandwidth)) +
         std::abs(std::log(a.peak_of(DType::bf16) / b.peak_of(DType::bf16)));
}
bool same_architecture(const Device& a, const Device& b) {
  return a.links.compute_capability == b.links.compute_capability;
}
// B200 and B300 are neither the same nor strangers: pairs like them say nothing of either transfer.
bool strangers(const Device& a, const Device& b) {
  const auto family = [](const Device& d) {
    const std::string& capability = d.links.compute_capability;
    return capability.starts_with("10.") ? std::string("10") : capability;
  };
  return family(a) != family(b);
}

// The nearest card of the same architecture, or of another; none: there is no such card.
std::optional<Device> relative_of(const Device& card, bool same) {
  std::optional<Device> nearest;
  for (const char* name : kMeasured) {
    Device other = known_device(name);
    if (other.name == card.name || !(same ? same_architecture(card, other) : strangers(card, other))) continue;
    if (!nearest || distance(card, other) < distance(card, *nearest)) nearest = std::move(other);
  }
  return nearest;
}

Device with_fits_of(Device card, const Device& relative) {
  card.model = relative.gpu();
  return card;
}

void add_gemms(Ratios& to, const Device& own, const Device& transferred) {
  constexpr std::array<std::array<int, 2>, 8> kShapes{{{4096, 6144},
                                                       {4096, 28672},
                                                       {14336, 4096},
                                                       {8192, 10240},
                                                       {28672, 8192},
                                                       {5120, 5120},
                                                       {2048, 2048},
                                                       {1024, 4096}}};
  const auto add = [&](TransferredKernel kernel, const Operands& o) {
    for (const int rows : {1, 4, 16, 64, 256, 512})
      for (const auto& [in, out] : kShapes) {
        const Gemm k{.rows = rows,
                     .in = in,
                     .out = out,
                     .weights = o.weights,
                     .activations = o.activations,
                     .scaling = o.scaling,
                     .scale_bits = o.scale_bits};
        to[kernel].push_back(gpu_time(own, k, 0) / gpu_time(transferred, k, 0));
      }
  };
  add(TransferredKernel::gemm, {});
  for (const NarrowFormat format : kNarrowFormats)
    if (own.gpu().narrow_gemm[format] && transferred.gpu().narrow_gemm[format])
      add(TransferredKernel::narrow_gemm, operands_of(format));
}

void add_experts(Ratios& to, const Device& own, const Device& transferred) {
  struct Layer {
    int hidden, intermediate, experts, per_token;
  };
  const auto add = [&](const Operands& o) {
    for (const Layer& l : {Layer{2048, 768, 128, 8}, Layer{4096, 1536, 128, 8}, Layer{4096, 14336, 8, 2}})
      for (const int rows : {1, 8, 64, 256}) {
        const ExpertMlp k{.rows = rows,
                          .hidden = l.hidden,
                          .intermediate = l.intermediate,
                          .experts = l.experts,
                          .per_token = l.per_token,
                          .weights = o.weights,
                          .activations = o.activations,
                          .scale_bits = o.scale_bits,
                          .scaling = o.scaling};
        to[TransferredKernel::experts].push_back(gpu_time(own, k) / gpu_time(transferred, k));
      }
  };
  const auto measured = [](const std::optional<ExpertFit>& fit) { return fit && fit->origin.borrowed_from.empty(); };
  if (measured(own.gpu().experts) && measured(transferred.gpu().experts)) add({});
  for (const NarrowFormat format : kNarrowFormats)  // int4_wo was measured on the layers of one network
    if (format != NarrowFormat::int4_wo && measured(own.gpu().narrow_experts[format]) &&
        measured(transferred.gpu().narrow_experts[format]))
      add(operands_of(format));
}

void add_attention(Ratios& to, const Device& own, const Device& transferred, const Engine& engine) {
  const auto time = [&](const Device& d, const Attention& k, const Span& span) {
    const std::string library = attention_library(engine.attention, own.links.compute_capability, DType::bf16);
    return gpu_time(d, attention_choice(d.gpu().attention, library, DType::bf16), k, span, CacheState::in_memory);
  };
  const auto add = [&](TransferredKernel kernel, int sequences, int rows, int context) {
    for (const auto& [heads, kv_heads] : {std::pair{32, 8}, std::pair{64, 8}, std::pair{8, 1}}) {
      AttentionPoint p{sequences, rows, context, heads, kv_heads, 128, {}};
      const Attention k = kernel_of(p);
      to[kernel].push_back(time(own, k, span_of(p)) / time(transferred, k, span_of(p)));
    }
  };
  for (const int sequences : {1, 8, 64})
    for (const int context : {512, 4096, 16384}) {
      add(TransferredKernel::decode_attention, sequences, 1, context);
      add(TransferredKernel::prefill_attention, sequences, 4, context);
    }
  for (const int rows : {512, 2048, 8192}) add(TransferredKernel::prefill_attention, 1, rows, 0);
}

Ratios ratios_of(const Device& card, const Device& relative) {
  Ratios all;
  const Device transferred = with_fits_of(card, relative);
  add_gemms(all, card, transferred);
  add_experts(all, card, transferred);
  add_attention(all, card, transferred, known_engine("vllm-0.24"));
  return all;
}

void print(const Device& card, const Device& relative, const Ratios& ratios) {
  std::printf("| %-12s | %-12s |", card.name.c_str(), relative.name.c_str());
  for (const auto& [name, kernel] : kTransferredKernels) {
    const std::vector<double>& r = ratios[kernel];
    if (r.empty()) std::printf(" |");
    else std::printf(" %.2f (%.2f to %.2f) |", quantile(r, 0.5), quantile(r, 0.05), quantile(r, 0.95));
  }
  std::printf("\n");
}

// 90 % of all ratios, with every card as often as another.
TransferSpread spread(bool same) {
  Ratios all;
  for (const char* name : kMeasured) {
    const Device card = known_device(name);
    const auto relative = relative_of(card, same);
    if (!relative) continue;
    const Ratios ratios = ratios_of(card, *relative);
    print(card, *relative, ratios);
    for (const auto& [kernel_name, kernel] : kTransferredKernels)
      for (const double share : {0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95})
        if (!ratios[kernel].empty()) all[kernel].push_back(quantile(ratios[kernel], share));
  }
  TransferSpread s;
  for (const auto& [name, kernel] : kTransferredKernels)
    s[kernel] = {std::min(1.0, quantile(all[kernel], 0.05)), std::max(1.0, quantile(all[kernel], 0.95))};
  return s;
}

TransferSpreads shipped() {
  return read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/transfer.json", read_transfer_spreads);
}

void check_same(const TransferSpread& stated, const TransferSpread& computed) {
  for (const auto& [name, kernel] : kTransferredKernels) {
    std::printf("%s: %.3f to %.3f\n", std::string(name).c_str(), computed[kernel].low, computed[kernel].high);
    CAPTURE(name);
    CHECK(stated[kernel].low == Approx(computed[kernel].low).epsilon(0.02));
    CHECK(stated[kernel].high == Approx(computed[kernel].high).epsilon(0.02));
  }
}

}  // namespace

TEST_CASE("the spread of transferred fits is that of each measured card left out in turn") {
  std::printf("nearest card of the same architecture\n");
  const TransferSpread same = spread(true);
  check_same(shipped().same_architecture, same);
  std::printf("nearest card of another architecture\n");
  check_same(shipped().other_architecture, spread(false));
}

TEST_CASE("a card that was kept apart lies inside the interval of its transfer, kernel by kernel") {
  const Device card = known_device(kBlind);
  const auto relative = relative_of(card, false);
  REQUIRE(relative);
  const Ratios ratios = ratios_of(card, *relative);
  print(card, *relative, ratios);
  const TransferSpread spread = shipped().other_architecture;
  for (const auto& [name, kernel] : kTransferredKernels) {
    if (ratios[kernel].empty()) continue;  // the A100, the nearest card, has no fits of narrow formats
    const double median = quantile(ratios[kernel], 0.5);
    CAPTURE(name, median);
    CHECK(median >= spread[kernel].low);
    CHECK(median <= spread[kernel].high);
  }
}

TEST_CASE("a transferred fit is as uncertain as the relative's and the transfer together") {
  const Device lender = known_device("l40s"), borrower = known_device("a10g"), near = known_device("h100-pcie");
  const auto& own = lender.gpu().gemm.origin.interval;
  const auto& here = borrower.gpu().gemm.origin.interval;
  REQUIRE(own);
  REQUIRE(here);
  const TransferSpreads spreads = shipped();
  const RatioInterval both = product(*own, spreads.other_architecture[TransferredKernel::gemm]);
  CHECK(here->low == both.low);
  CHECK(here->high == both.high);
  CHECK(here->high > own->high);
  const RatioInterval same =
      product(*known_device("h100-sxm").gpu().gemm.origin.interval, spreads.same_architecture[TransferredKernel::gemm]);
  CHECK(near.gpu().gemm.origin.interval->high == same.high);
  CHECK_FALSE(near.gpu().delta_net->origin.interval);  // what its transfer costs is not known
}

TEST_CASE("independent factors add up as the squares of their logarithms") {
  const RatioInterval both = product({0.5, 8}, {0.5, 4});  // log2: 1 and 1, 3 and 2
  CHECK(both.low == Approx(std::exp2(-std::sqrt(2.0))));
  CHECK(both.high == Approx(std::exp2(std::sqrt(13.0))));
  CHECK(product({1, 1}, {0.8, 1.3}).high == Approx(1.3));
}
