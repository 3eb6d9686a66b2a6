// SPDX-License-Identifier: Apache-2.0
// Attention over the blocked KV cache. One kernel serves decode, chunked prefill and the verification of chains and
// trees. The rows of a sequence times the query heads of a KV head form one matrix, which is cut into tiles, so that
// keys and values are read once per tile. Long contexts are split among CTAs, and a second launch joins the parts.
#pragma once
#include <cstddef>

namespace draftline::cuda {

struct AttendShape {
  int sequences, widest, heads, kv_heads;
  int head_dim, value_dim;  // columns of a query and of a key; of a value and of a result
  int capacity;             // cache entries that a sequence may have
  int sms;                  // of the device
};

// How an attention is cut: at most `splits` parts of the context, and `tiles` tiles of `tile_rows` rows x heads per KV
// head.
struct AttendPlan {
  int splits = 1, tiles = 1, tile_rows = 1;
  bool tensor_cores = false;
  int launches() const { return splits > 1 ? 2 : 1; }
};
template <class T>
AttendPlan plan_attend(const AttendShape&);
template <class T>
std::size_t attend_scratch(const AttendShape&);  // bytes

// Latent attention (decoder/op/latent_attention.h), absorbed, over latents that all heads share.
struct LatentShape {
  int sequences, widest, heads, rank, rope;
  int capacity;        // cache entries that a sequence may have
  int sms;             // of the device
  std::size_t shared;  // memory that the device gives a block, in bytes
};
// Tiles are of rows x heads, as those of plan_attend: 64 of them where the shared memory has room for their queries.
template <class T>
AttendPlan plan_latent(const LatentShape&);
template <class T>
std::size_t latent_scratch(const LatentShape&);  // bytes

}  // namespace draftline::cuda
