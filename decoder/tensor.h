// SPDX-License-Identifier: Apache-2.0
// Handles of networks and methods: small values that own nothing and have the same meaning on every backend. Every
// tensor is 2-D, and a row is one token of one sequence; batches are ragged, never padded.
#pragma once
#include <optional>
#include <vector>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "decoder/weights.h"
#include "model/transformers/dtype.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// temp: valid until the next host read. persistent: valid as long as its Ops.
enum class Home : std::uint8_t { temp, persistent };

// A strided view of buffer `id`: element (r, c) is at offset + r * stride + c, counted in elements.
struct Tensor {
  int rows = 0, cols = 0, stride = 0, offset = 0, id = -1, epoch = 0;
  Home home = Home::temp;
  DType dtype = DType::fp32;
  double elements() const { return 1.0 * rows * cols; }
  std::size_t values() const { return at(rows) * at(cols); }
  Bytes bytes() const { return bytes_of(dtype, elements()); }
};

// A tensor that an op writes. The direction is part of the type, so that liveness and bytes can be derived from an
// op's fields.
struct Out : Tensor {
  Out() = default;
  Out(Tensor t) : Tensor(t) {}
};

// Views of columns, of rows, and with another shape. They record no op and cost nothing. They throw Bug if the view
// exceeds the tensor.
inline Tensor columns(Tensor t, int from, int n) {
  check(from >= 0 && n > 0 && from + n <= t.cols, "columns: outside of the tensor");
  t.offset += from;
  t.cols = n;
  return t;
}
inline Tensor row_range(Tensor t, int from, int n) {
  check(from >= 0 && n >= 0 && from + n <= t.rows, "row_range: outside of the tensor");
  t.offset += from * t.stride;
  t.rows = n;
  return t;
}
inline Tensor reshape(Tensor t, int rows, int cols) {
  check(t.stride == t.cols && t.elements() == 1.0 * rows * cols, "reshape: a contiguous tensor of that size");
  t.rows = rows;
  t.cols = t.stride = cols;
  return t;
}

// The part of the text to which rows attend. A window slides with the rows unless it is chunked: the text is then
// divided into chunks of `tokens` tokens, and a row attends only to its own chunk. A ring is a cache of at most
// `tokens` committed entries, and a row attends to all of them: the text's first `sinks` entries and the most recently
// stored others (KeepEntries and SelectEntries in decoder/op/rings.h). The tail follows them.
struct Window {
  int tokens = 0;  // tokens to which a row attends, itself included except in a ring; 0: all
  bool chunked = false, ring = false;
  int sinks = 0;        // of a ring
  bool chosen = false;  // the best earlier tokens by an indexer instead of the last (SelectTokens)
  // With `every` above 1 a row attends to entries, each of which stands for so many tokens, and besides them to the
  // last `recent` tokens themselves.
  int every = 1, recent = 0;
  constexpr bool reads_all() const { return tokens == 0 && every == 1; }  // all of the text, token by token
  // The number of committed entries in a cache for a text of this committed length; the tail follows them.
  constexpr int held(int length) const { return ring && length > tokens ? tokens : length; }
  // The entry of a committed position. Positions are in order if the text fits.
  constexpr int entry(int position) const {
    return ring && position >= tokens ? sinks + (position - sinks) % (tokens - sinks) : position;
  }
  // The first position to which the row at `position` attends.
  constexpr int first_key(int position) const {
    if (tokens == 0 || ring || chosen) return 0;
    return chunked ? position / tokens * tokens : position < tokens ? 0 : position - tokens + 1;
  }
  constexpr bool operator==(const Window&) const = default;
};

// The KV cache of some layers: of a target, of a draft network, or of a drafter's single layer. Each KV slot holds one
// sequence.
struct Cache {
  int id = -1, layers = 0, kv_heads = 0;
  int head_dim = 0, value_dim = 0;  // columns of a key and of a value
  DType dtype = DType::fp32;
  Window window = {};
  int latent = 0;                       // for latent attention: the key's first columns, which are also its value
  std::optional<Indexer> indexer = {};  // its key is stored with each latent
  int every = 1;                        // tokens for which an entry stands
  int value_columns() const { return kv_heads * value_dim; }
  int columns() const { return latent > 0 ? head_dim : kv_heads * (head_dim + value_dim); }
  int index_columns() const { return indexer ? indexer->head_dim : 0; }
  Bytes row_bytes() const {  // of one token in one layer
    return (bytes_of(dtype, columns()) + (indexer ? indexer->key_bytes() : Bytes{})) / every;
  }
};

// The data of recurrent layers in each KV slot, instead of keys and values: the states after a sequence's last
// `states` rows, and the rows that its convolution may read again. Both are in rings by position (the state after
// position t is at t mod `states`), so that accepting rows moves no data: the next pass starts at the committed
// length. Only passes over prompts may have more than `states` - 1 rows.
struct StateCache {
  int id = -1, layers = 0, states = 0;
  StateForm form = {};
  DType inputs = DType::fp32;  // format of the convolution's rows
  int kept_rows() const { return states + form.kernel - 1; }
  Bytes state_bytes() const { return bytes_of(form.format, form.elements()); }  // one, in one layer
  Bytes row_bytes() const { return bytes_of(inputs, form.convolved_columns); }  // likewise
};

// The assignment of a pass's rows to sequences. The total is part of the shape; each sequence's number of rows is data
// on the device, so that ragged plans share a tape.
struct Rows {
  // Rows of each sequence, for accounting on the host alone; 0: it takes no part in the pass.
  std::vector<int> each = {};
  Tensor cu_seqlens = {};  // int32 [sequences + 1]: rows of all sequences before this one
  int total = 0, widest = 0;
  bool prompts = false;  // whole prompts: nothing is cached before them
  int sequences() const { return cu_seqlens.rows - 1; }
};

// The batch slots of sequences that step together: views of persistent buffers, so that a batch can shrink, grow or be
// split without copying.
struct BatchSlots {
  Tensor kv_slots;  // int32 [sequences]: the KV slot of each
  Tensor lengths;   // int32 [sequences]: committed cache entries; changed only by Advance, the last op of a step
  Tensor ids;       // int32 [sequences]: the sequence's id, which selects its stream of random numbers
};

// One forward pass. A sequence's tail consists of its uncommitted cache entries. A row's position in the text is
// length + (tail entries that it attends to) - 1, for every method.
struct Pass {
  Rows rows;
  BatchSlots slots;
  // int32 [total, words]: bit j = attends to tail entry j, itself included. None: causal.
  std::optional<Tensor> tree_mask = {};
  int tail = 0;  // uncommitted entries that each sequence already has; this pass appends its rows after them
  // Only for accounting on the host, if a drafter has its own lengths in `slots`: the entries by which each sequence
  // is ahead of the committed length. Empty: 0.
  std::vector<int> ahead = {};
  // false without a mask: each row attends to all rows of the pass and keeps its position; of the text before them,
  // all rows attend to the tokens visible from the first uncommitted position.
  bool causal = true;
  // Whether rows attend only to earlier rows. If not, every pair of rows is counted, including pairs that a mask
  // excludes.
  bool is_causal() const { return causal && !tree_mask; }
  Bytes index_bytes() const {  // row starts, slots, lengths, mask
    return rows.cu_seqlens.bytes() + slots.kv_slots.bytes() + slots.lengths.bytes() +
           (tree_mask ? tree_mask->bytes() : Bytes{});
  }
};
// Refers to a pass of the tape, so that ops stay small.
struct PassRef {
  int index = -1, epoch = 0;
};
// A pass over one layer of a cache.
template <class C>
struct PassOver {
  PassRef pass;
  C cache;
  int layer;
};
using LayerPass = PassOver<Cache>;
using StatePass = PassOver<StateCache>;

}  // namespace draftline
