// SPDX-License-Identifier: Apache-2.0
// FIELDS: the list of an op's members, in order. decoder/op.h, the last to need it, takes the macro back.
#pragma once
#include <tuple>

// A template, so that tuples are instantiated only where a list is read.
#define FIELDS(...)               \
  template <class = void>         \
  auto fields() const {           \
    return std::tie(__VA_ARGS__); \
  }
