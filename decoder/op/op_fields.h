// SPDX-License-Identifier: Apache-2.0
// Every op's struct has `key`, its name in engine profiles, and FIELDS, the list of its members in order, from which
// hashing, liveness and byte counts are derived. Optional members:
//   element          the probed op that its loop resembles (default: add)
//   element_share    the share of its first operand's elements that this work applies to (1)
//   accesses         the data that may still be in a processor's cache when the op starts (nothing)
//   key_in(Tape)     a key that depends on more than the op's type
//   window_read()    the window of the cache over which it attends
//   held_layer()     the index of its layer in the cache, if not `layer`
//   work(Tape)       the shape of its kernel (model/work); without it the op reads or writes every operand once
// n counts rows, B sequences.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "decoder/tensor.h"
#include "model/transformers/transformer_shape.h"
#include "model/work.h"

namespace draftline {

struct Tape;

// A weight; entries of a layer's KV cache, which attention reads or after which keys and values are stored.
enum class Accesses : std::uint8_t { nothing, weight, entries, stored_entries };

}  // namespace draftline

// A template, so that tuples are instantiated only where a list is read.
#define FIELDS(...)               \
  template <class = void>         \
  auto fields() const {           \
    return std::tie(__VA_ARGS__); \
  }
