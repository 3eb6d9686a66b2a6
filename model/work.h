// SPDX-License-Identifier: Apache-2.0
// What a kernel has to do: the one accounting of FLOP and bytes. The roofline predicts from it, the CPU decoder is
// tested against it, probes divide by it. It has shapes (GEMM, attention, copy, collectives), never ops:
// decoder/op_work maps. Rules: a multiply-add of a GEMM or attention is 2 FLOP, vector work 0; operands and results
// count once per kernel, weights once whatever the rows, keys and values once per sequence and pass; query-key pairs of
// the uncommitted tail are dense under a mask and triangular without, whatever the mask's values.
#pragma once
#include <array>
#include <string_view>
#include <variant>

#include "core/named.h"
#include "core/quantity.h"
#include "model/transformers/dtype.h"
#include "model/transformers/expert_routing.h"

namespace draftline {

struct Work {
  Flops flops;
  Bytes read, written;
  constexpr Bytes bytes() const { return read + written; }
  constexpr Work& operator+=(const Work& o) {
    flops += o.flops;
    read += o.read;
    written += o.written;
    return *this;
  }
};

// [rows, in] x [in, out] -> [rows, out]. With `count` above 1, that many such products with operands of their own run
// side by side, and the shapes are those of each.
struct Gemm {
  int rows = 0, in = 0, out = 0;
  DType weights = DType::bf16, activations = DType::bf16;
  bool bias = false;
  Scaling scaling = Scaling::rows;  // of 8-bit operands
  double scale_bits = 0;            // of the weights' scales, for each weight
  int count = 1;
  bool operator==(const Gemm&) const = default;
};

// The format of what comes out of a product: 16 bits if its operands were quantised, else that of the activations.
constexpr DType result_format(DType activations) { return bits_of(activations) < 16 ? DType::bf16 : activations; }

// Attention of `rows` query rows (all sequences together) over the paged cache; one layer.
struct Attention {
  int sequences = 0, rows = 0, widest = 0;    // widest: most query rows of one sequence
  int heads = 0, kv_heads = 0, head_dim = 0;  // head_dim: columns of a query and of a key
  DType cache = DType::bf16, activations = DType::bf16;
  bool masked = false;     // a token-tree mask over the tail; none: causal
  Bytes index_bytes = {};  // row starts, block table, lengths, mask: read once
  int value_dim = 0;       // columns of a value and of a result; 0: as many as of a key
  bool latent = false;     // values are a key's first columns, which are read once for both
  bool expanded = false;   // keys and values were expanded from latents for this pass alone
  bool gathers = false;    // each row reads keys of its own, that an indexer has chosen
  // For an indexer's scores (sparse attention): the bytes of one key, which has no value. Each query-key pair gives a
  // score in 32 bits. The choice of each row's `value_dim` best reads the scores again.
  Bytes key_bytes = {};
  constexpr bool scores() const { return key_bytes.value > 0; }
  constexpr int values() const { return scores() ? 0 : value_dim > 0 ? value_dim : head_dim; }
  constexpr double key_columns() const {  // that are read for one key, its value included
    return 1.0 * kv_heads * (latent ? head_dim : head_dim + values());
  }
  constexpr Bytes keys_read(double keys) const {
    return scores() ? keys * key_bytes : bytes_of(cache, key_columns() * keys);
  }
  bool operator==(const Attention&) const = default;
};
// Kernels of latent attention are not those of other attention: absorbed, all heads read one wide key; expanded, keys
// and values are not in a cache, and keys are wider than values.
enum class AttentionForm { ordinary, absorbed, expanded };
inline constexpr NamedValues<AttentionForm, 3> kAttentionForms{{{"ordinary", AttentionForm::ordinary},
                                                                {"absorbed", AttentionForm::absorbed},
                                                                {"expanded", AttentionForm::expanded}}};
constexpr AttentionForm form_of(const Attention& k) {
  if (k.latent) return AttentionForm::absorbed;
  return k.expanded && k.values() != k.head_dim ? AttentionForm::expanded : AttentionForm::ordinary;
}
// Query-key pairs and cache entries of one attention, summed over its sequences. Depends on the context.
struct Span {
  double pairs = 0, keys = 0;
  constexpr Span& operator+=(const Span& o) {
    pairs += o.pairs;
    keys += o.keys;
    return *this;
  }
  constexpr bool operator==(const Span&) const = default;
};

// The op that is done to each element on the way, or the nearest to it that a probe times: on a CPU an exponential
// costs more than its bytes, on a GPU nothing.
enum class ElementOp { add, rms_norm, silu_mul, rope_append, argmax, top_k, sample };
inline constexpr NamedValues<ElementOp, 7> kElementOps{{{"add", ElementOp::add},
                                                        {"rms_norm", ElementOp::rms_norm},
                                                        {"silu_mul", ElementOp::silu_mul},
                                                        {"rope_append", ElementOp::rope_append},
                                                        {"argmax", ElementOp::argmax},
                                                        {"top_k", ElementOp::top_k},
                                                        {"sample", ElementOp::sample}}};

// Vector work and data movement: norms, activations, gathers, stores, sampling.
struct Copy {
  Bytes read, written;
  Flops flops = {};  // attention among a few rows without a cache; else 0
  ElementOp op = ElementOp::add;
  double elements = 0;         // to which the op is done, beyond adding
  DType format = DType::fp32;  // of most of what is moved
  Bytes old_lines = {};        // a CPU's cache lines among these that were last accessed a step ago: a KV cache's
  bool operator==(const Copy&) const = default;
};

// Elementwise work that does and moves as much, for kernels without a form of their own.
constexpr Copy as_elementwise(const Work& w) { return {.read = w.read, .written = w.written, .flops = w.flops}; }

// What the devices of a group do together. all_reduce: each gets the sum. all_gather: each gets the shares of all, side
// by side or one below the other. reduce_scatter: each gets its share of the sum. all_to_all: each sends a part of what
// it has to every other.
enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all };
inline constexpr NamedValues<Collective, 4> kCollectives{{{"all_reduce", Collective::all_reduce},
                                                          {"all_gather", Collective::all_gather},
                                                          {"reduce_scatter", Collective::reduce_scatter},
                                                          {"all_to_all", Collective::all_to_all}}};

// `message`: for an all-gather the bytes of the whole result, else what each device puts in. `rows`: the rows in the
// message; 0 if an engine does not pad them.
struct CollectiveCall {
  Collective collective = Collective::all_reduce;
  Bytes message;
  int ranks = 1, rows = 0;
  bool operator==(const CollectiveCall&) const = default;
};

// A mixture-of-experts MLP: a router, then `per_token` of `experts` MLPs for each row. The weights that it reads are
// those of the expected number of experts touched.
struct ExpertMlp {
  int rows = 0, hidden = 0, intermediate = 0, experts = 0, per_token = 0;
  DType weights = DType::bf16, activations = DType::bf16;
  double scale_bits = 0;  // of the weights' scales, for each weight
  int sequences = 0;      // that the rows belong to; 0: each row to its own
  RowRouting routing = {};
  Scaling scaling = Scaling::rows;  // as of a Gemm
  int devices = 1;                  // that share the experts, each whole ones; the busiest of them is meant
  double balancedness = 0;          // mean over maximum of the devices' rows; 0: that of independent draws
  bool routed_apart = false;        // the router reads rows of its own
  int router_columns = 0;           // of the rows that the router reads; 0: hidden
  bool gated = true;                // an expert has a gate's matrix besides the two of an MLP
  bool router_fp32 = false;         // the router multiplies in 32 bits
  int ranks = 1;                    // that share the columns of each expert
  int row_multiple = 1;             // each expert's rows are padded to a multiple of this, even if it has none
  constexpr int routed_columns() const { return router_columns > 0 ? router_columns : hidden; }
  constexpr int wide_columns() const { return (gated ? 2 : 1) * intermediate; }
  constexpr double expert_elements() const { return 1.0 * hidden * (wide_columns() + intermediate); }
  bool operator==(const ExpertMlp&) const = default;
};
// The rows choose as n = sequences (rows / sequences)^exponent independent draws of k experts.
double independent_draws(const ExpertMlp&);
// Expected number of distinct experts that the rows choose, on all devices (experts_of_draws()).
double experts_touched(const ExpertMlp&);
// The busiest device's share of the layer: its experts with at least one row, and the rows of all its experts. The
// numbers of equal devices are taken as normally distributed, with the variance of draws without replacement and the
// given sum. A known balancedness b gives the rows instead, mean / b; no device has more experts with rows than rows.
double busiest_experts_touched(const ExpertMlp&);
double busiest_expert_rows(const ExpertMlp&);

// The causal convolution before a recurrence, one layer. Each of `columns` is convolved separately, over the last
// `kernel` rows of its sequence. The `kernel` - 1 rows of a sequence before the pass are read from what was kept of
// them.
struct CausalConvolution {
  int sequences = 0, rows = 0, columns = 0, kernel = 0;
  DType activations = DType::bf16;
  bool prompts = false;    // no rows precede the pass, and the last ones alone are kept; else all are
  Bytes index_bytes = {};  // row starts, slots, lengths
  bool bias = false;
  bool state_space = false;  // before a selective scan, for which a library may have another kernel
  bool operator==(const CausalConvolution&) const = default;
};

// The gated delta rule of one layer (Yang et al. 2024, equation 10): each value head's state S [key_dim, value_dim]
// becomes a S + k (b (v - a k^T S))^T with every row, which then reads q^T S. FLOP are those of the recurrence, of its
// three products of a vector and S; chunked kernels compute more.
struct DeltaRule {
  int sequences = 0, rows = 0, widest = 0;
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  DType state = DType::fp32, activations = DType::bf16;
  bool prompts = false;  // states start empty and the last one alone is kept; else that of every row
  bool tree = false;     // each row reads the state of its parent; else a sequence's rows follow one another
  Bytes index_bytes = {};
  bool column_gates = false;  // a decay for each column of a head's keys, instead of one per head
  constexpr int decays() const { return column_gates ? value_heads * key_dim : value_heads; }  // of a row
  bool operator==(const DeltaRule&) const = default;
};
Bytes state_bytes(const DeltaRule&);  // of one sequence

// The scan of a selective state space, one layer (Mamba-2: Dao and Gu 2024, section 7): each head's state S [state_dim,
// head_dim] becomes a S + b x^T with every row, which then reads c^T S. FLOP are those of the recurrence, of its two
// products of a vector and S; chunked kernels compute more.
struct SelectiveScan {
  int sequences = 0, rows = 0, widest = 0;
  int heads = 0, head_dim = 0, groups = 0, state_dim = 0;
  int chunk = 256;  // rows of a chunk of a prompt
  DType state = DType::fp32, activations = DType::bf16;
  bool prompts = false, tree = false;  // as of a DeltaRule
  Bytes index_bytes = {};
  constexpr int columns() const { return heads * head_dim; }
  bool operator==(const SelectiveScan&) const = default;
};
Bytes state_bytes(const SelectiveScan&);  // of one sequence

// Several residual streams around a sublayer (hyper-connections): they join in what it reads, or its result is spread
// over them. They join in two kernels, both of which read the streams: a product with a matrix in fp32, which has a
// column for each of a row's mixes, and a weighted sum.
struct StreamMix {
  int rows = 0, hidden = 0, streams = 0;
  DType activations = DType::bf16;
  bool spreads = false;
  constexpr int mixes() const { return (2 + streams) * streams; }  // weights of one row, for one sublayer
  bool operator==(const StreamMix&) const = default;
};

// The states that a recurrence reads and writes.
template <class Recurrence>
constexpr int states_read(const Recurrence& k) {
  return k.prompts ? 0 : k.tree ? k.rows : k.sequences;
}
template <class Recurrence>
constexpr int states_written(const Recurrence& k) {
  return k.prompts ? k.sequences : k.rows;
}

using Kernel = std::variant<Gemm, Attention, Copy, CollectiveCall, ExpertMlp, CausalConvolution, DeltaRule,
                            SelectiveScan, StreamMix>;

Bytes weight_bytes(DType, double elements, double scale_bits = 0);  // scale_bits: of their scales, for each
Work work(const Gemm&);
Work work(const Attention&, Span);
Work work(const Copy&);
Work work(const CollectiveCall&);
Work work(const ExpertMlp&);
Work work(const CausalConvolution&);
Work work(const DeltaRule&);
Work work(const SelectiveScan&);
Work work(const StreamMix&);
Work work(const Kernel&, Span);

}  // namespace draftline
