// SPDX-License-Identifier: Apache-2.0
// Caches that keep a part of a text: which entries lie where, and what a pass over them sees.
#include <bit>

#include "decoder/cpu/backend.h"
#include "decoder/op_work.h"
#include "decoder/ops.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

class Nothing : public WeightSource {
 public:
  void load(const std::string&, int, int, std::span<float>) override {}
};

// One sequence, one layer, one head of two columns, which a rotation turns at their position. A row's value is its
// position.
struct Text {
  Nothing none;
  WeightStore store{DType::fp32};
  CpuBackend backend{store, none};
  Ops ops{backend, DType::fp32, 1};
  Cache whole = ops.cache(1, 1, 2, 32), ring;
  BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                   ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                   ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  int length = 0;

  explicit Text(Window window) : ring(ops.cache(1, 1, 2, window.tokens + 4, window)) {
    const std::vector<int> zero{0};
    for (const Tensor& t : {slots.kv_slots, slots.lengths, slots.ids}) ops.upload(t, zero);
    ops.flush();
  }
  Tensor floats(const std::string& name, const std::vector<float>& values, int columns) {
    std::vector<int> bits;
    for (const float v : values) bits.push_back(std::bit_cast<int>(v));
    const Tensor t = ops.persistent(name, static_cast<int>(values.size()) / columns, columns, DType::fp32);
    ops.upload(t, bits);
    return t;
  }
  // Appends rows to a cache behind `tail` entries; their first key column, and 1 as the query. Returns the queries.
  Tensor append(const Cache& cache, const std::vector<float>& keys, int tail, int rotated, PassRef pass) {
    const int n = static_cast<int>(keys.size());
    std::vector<float> k, v, q;
    for (int i = 0; i < n; ++i) {
      k.insert(k.end(), {keys[static_cast<std::size_t>(i)], 0});
      v.insert(v.end(), {static_cast<float>(length + tail + i), 0});
      q.insert(q.end(), {1, 0});
    }
    return ops.rope_append(floats("q", q, 2), floats("k", k, 2), floats("v", v, 2), Rope{100, rotated, {}},
                           {pass, cache, 0});
  }
  Rows rows(int n, bool prompt = false) {
    Rows r = ops.uniform(1, n);
    r.prompts = prompt;
    return r;
  }
  // Takes in a prompt, of which the ring gets the last entries, or those that `choose` chooses.
  struct Choice {
    int window, pool;
  };
  void prompt(const std::vector<float>& keys, std::optional<Choice> choose = {}) {
    const int n = static_cast<int>(keys.size());
    const Rows all = rows(n, true);
    const PassRef pass = ops.pass({all, slots});
    const Tensor q = append(whole, keys, 0, 0, pass);
    if (choose) ops.select_entries(q, {pass, whole, 0}, ring, choose->window, choose->pool, 1.0);
    else ops.keep_entries(whole, ring, ops.constant({n - 1}), all, slots);
    advance(n);
  }
  void step(int verified, int accepted) {
    append(whole, std::vector<float>(static_cast<std::size_t>(verified), 0), 0, 0, ops.pass({rows(verified), slots}));
    ops.keep_entries(whole, ring, ops.constant({accepted - 1}), rows(verified), slots);
    advance(accepted);
  }
  void advance(int n) {
    ops.advance(slots.lengths, ops.constant({n}));
    ops.flush();
    length += n;
  }
  std::vector<int> held() {  // positions, by entry
    std::vector<int> all;
    for (int i = 0; i < ring.window.held(length); ++i)
      all.push_back(static_cast<int>(backend.cache_entry(ring, 0, 0, i)[2]));
    return all;
  }
};
using Positions = std::vector<int>;

}  // namespace

TEST_CASE("a ring keeps the first and the last entries of a text, each where the oldest was") {
  constexpr Window window{.tokens = 5, .ring = true, .sinks = 2};
  Text t(window);
  t.prompt({0, 0, 0});
  CHECK(t.held() == Positions{0, 1, 2});
  t.step(2, 2);
  CHECK(t.held() == Positions{0, 1, 2, 3, 4});
  t.step(3, 1);  // rows 6 and 7 are rejected, so that 3 and 4 stay
  CHECK(t.held() == Positions{0, 1, 5, 3, 4});
  t.step(3, 3);
  CHECK(t.held() == Positions{0, 1, 8, 6, 7});
  Text long_prompt(window);
  long_prompt.prompt(std::vector<float>(10, 0));
  CHECK(long_prompt.held() == Positions{0, 1, 8, 9, 7});
}

TEST_CASE("a prompt's end chooses the entries that it attends to, and the least of them give way first") {
  constexpr Window window{.tokens = 4, .ring = true};
  const std::vector<float> keys{0, 5, 0, 0, 4, 0, 3, 0, 0, 0};  // scores of the last row
  Text t(window);
  t.prompt(keys, Text::Choice{1, 1});
  CHECK(t.held() == Positions{1, 9, 6, 4});
  t.step(3, 1);
  CHECK(t.held() == Positions{1, 9, 10, 4});
  t.step(1, 1);
  CHECK(t.held() == Positions{1, 9, 10, 11});
  t.step(3, 3);
  CHECK(t.held() == Positions{12, 13, 14, 11});
  Text means(window);  // of three neighbours: 1 and 2 have 1 + e^5 + 1, 0 has none before it
  means.prompt(keys, Text::Choice{1, 3});
  CHECK(means.held() == Positions{1, 9, 0, 2});
  Text two_rows(window);  // both stay
  two_rows.prompt(keys, Text::Choice{2, 1});
  CHECK(two_rows.held() == Positions{8, 9, 4, 1});
  Text fits(window);
  fits.prompt({0, 5, 0}, Text::Choice{1, 1});
  CHECK(fits.held() == Positions{0, 1, 2});
}

TEST_CASE("a pass over a ring attends to all that it holds and to its own rows, at the text's positions") {
  Text t({.tokens = 5, .ring = true, .sinks = 2});
  t.prompt(std::vector<float>(10, 0));
  const PassRef pass = t.ops.pass({t.rows(1), t.slots});
  const Tensor q = t.append(t.ring, {7}, 0, 2, pass);
  const Tensor y = t.ops.attend(q, {pass, t.ring, 0}, 0.0), kept = t.ops.persistent("kept", 1, 2, DType::fp32);
  t.ops.store(kept, y);
  t.ops.flush();
  t.append(t.whole, {7}, 0, 2, t.ops.pass({t.rows(1), t.slots}));
  t.ops.flush();
  CHECK(t.backend.read_floats(kept)[0] == Approx((0 + 1 + 8 + 9 + 7 + 10) / 6.0));  // equal scores
  CHECK(t.backend.cache_entry(t.ring, 0, 0, 5) == t.backend.cache_entry(t.whole, 0, 0, 10));
  CHECK(t.backend.cache_entry(t.ring, 0, 0, 5)[0] != 7);  // it was rotated
}
