// SPDX-License-Identifier: Apache-2.0
// Gated delta networks against the CPU backend: prompts, then passes of one and of several rows a sequence, from the
// states that were kept, some of which are taken back.
#include "tests/catch.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// fp32: the order of additions alone. bf16: states and results are rounded to 8 bits, and states again by every row.
template <class S>
constexpr double kStateTolerance = std::is_same_v<S, float> ? 1e-5 : 1.0 / 32;

// One layer's convolution and recurrence over passes: rows of each sequence, and how many of them are then committed.
struct PassOf {
  std::vector<int> rows, kept;
};

template <class T, class S>
double compare(const std::variant<DeltaNet, Mamba2>& net, const std::vector<PassOf>& passes, int states,
               unsigned seed) {
  Dice dice(seed);
  const int sequences = static_cast<int>(passes.front().rows.size()), layers = 2, layer = 1;
  const StateForm form = std::visit([](const auto& n) { return n.form(); }, net);
  const auto* delta = std::get_if<DeltaNet>(&net);
  const int columns = form.convolved_columns, heads = form.value_heads;
  const int decays = delta != nullptr ? delta->decays() : heads,
            gate_columns = delta != nullptr ? heads + decays : heads;
  Specification cpu(sequences);
  Ops& ops = cpu.ops;
  const StateCache cache = ops.state_cache(layers, form, states);
  const BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                         ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                         ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  std::vector<int> kv_slots(static_cast<std::size_t>(sequences)), lengths(kv_slots);
  std::iota(kv_slots.rbegin(), kv_slots.rend(), 0);
  ops.upload(slots.kv_slots, kv_slots);
  ops.upload(slots.ids, kv_slots);
  const Weight w = cpu.store.table("convolution", form.kernel, columns), b = cpu.store.vector("bias", columns),
               skip = cpu.store.vector("skip", heads), a_log = cpu.store.vector("a_log", heads),
               dt_bias = cpu.store.vector("dt_bias", decays);
  const auto loaded = [&](const Weight& weight) {
    std::vector<float> values(static_cast<std::size_t>(weight.in) * static_cast<std::size_t>(weight.out));
    cpu.weights.load(cpu.store.name(weight), weight.in, weight.out, values);
    return Array<T>(values, weight.out);
  };
  const Array<T> w_device = loaded(w), a_device = loaded(a_log), dt_device = loaded(dt_bias), b_device = loaded(b),
                 skip_device = loaded(skip);
  const auto slots_of = static_cast<std::size_t>(layers * sequences);
  const Array<S> kept_states(static_cast<int>(slots_of) * states, static_cast<int>(form.elements()));
  const Array<T> kept_rows(static_cast<int>(slots_of) * cache.kept_rows(), columns);
  double worst = 0;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const bool prompts = p == 0;
    ops.upload(slots.lengths, lengths);
    Rows rows = ops.ragged("rows" + std::to_string(p), passes[p].rows);
    rows.prompts = prompts;
    const auto n = static_cast<std::size_t>(rows.total);
    const auto x = dice.normal<T>(n * static_cast<std::size_t>(columns)),
               gates = dice.normal<T>(n * static_cast<std::size_t>(gate_columns));
    const PassRef pass = ops.pass({rows, slots});
    const Tensor convolved = ops.convolve(cpu.floats(x, columns), w, {pass, cache, layer}, b);
    const Tensor gates_here = cpu.floats(gates, gate_columns);
    const Tensor result =
        cpu.keep(delta != nullptr
                     ? ops.gated_delta_rule(convolved, gates_here, a_log, dt_bias, {pass, cache, layer})
                     : ops.selective_scan(convolved, gates_here, {a_log, skip, dt_bias}, 256, {pass, cache, layer}));
    ops.flush();

    std::vector<int> cu_seqlens{0};
    for (const int each : passes[p].rows) cu_seqlens.push_back(cu_seqlens.back() + each);
    const Array<int> starts(cu_seqlens, 1), kv(kv_slots, 1), old(lengths, 1);
    const Array<T> x_device(x, columns), gates_device(gates, gate_columns);
    const Array<T> between(rows.total, columns), y(rows.total, form.value_columns());
    OpRunner d;
    rows.cu_seqlens = d(starts);
    const PassRef at = d.pass({rows, {d(kv), d(old), d(kv)}});
    StateCache held = d.states(cache, {kept_states.view().data, kept_rows.view().data, sequences});
    held.form.format = std::is_same_v<S, float> ? DType::fp32 : DType::bf16;
    d.run<T>(Convolve{d(x_device), d.weight(w_device), d.weight(b_device), at, held, layer, d(between)});
    if (delta != nullptr)
      d.run<T>(
          GatedDeltaRule{d(between), d(gates_device), d.weight(a_device), d.weight(dt_device), at, held, layer, d(y)});
    else
      d.run<T>(ScanSelectively{d(between), d(gates_device), d.weight(a_device), d.weight(skip_device),
                               d.weight(dt_device), 256, at, held, layer, d(y)});
    wait_for_device();
    worst = std::max(worst, distance(y.floats(), cpu.floats_of(result), 1));
    for (std::size_t b = 0; b < lengths.size(); ++b) lengths[b] += passes[p].kept[b];
  }
  return worst;
}

// Prompts shorter and longer than the kernel; a plain step; chains of which some rows, all, and one are kept, often
// enough that every place of the rings is written again; a sequence that sits out.
const std::vector<PassOf> kPasses{{{5, 1, 9}, {5, 1, 9}}, {{1, 1, 1}, {1, 1, 1}}, {{4, 4, 4}, {2, 4, 1}},
                                  {{4, 0, 4}, {1, 0, 4}}, {{3, 4, 2}, {3, 1, 2}}, {{4, 4, 4}, {4, 4, 4}}};

}  // namespace

TEST_CASE("gated delta networks on CUDA keep and give what the specification does") {
  NEEDS_DEVICE;
  const DeltaNet small{2, 4, 8, 12, 4, DType::fp32}, wide{1, 3, 48, 40, 3, DType::fp32};
  CHECK(compare<float, float>(small, kPasses, 5, 1) < kStateTolerance<float>);
  CHECK(compare<float, float>(wide, kPasses, 7, 2) < kStateTolerance<float>);
  CHECK(compare<bf16, float>(small, kPasses, 5, 3) < kStateTolerance<bf16>);
  CHECK(compare<bf16, bf16>(wide, kPasses, 5, 4) < kStateTolerance<bf16>);
  DeltaNet columns = small;
  columns.column_gates = DeltaNet::ColumnGates{4};
  CHECK(compare<float, float>(columns, kPasses, 5, 5) < kStateTolerance<float>);
}

TEST_CASE("state spaces on CUDA keep and give what the specification does") {
  NEEDS_DEVICE;
  const Mamba2 small{.heads = 4, .head_dim = 12, .groups = 2, .state_dim = 8, .state = DType::fp32},
      wide{.heads = 3, .head_dim = 40, .state_dim = 48, .kernel = 3, .state = DType::fp32};
  CHECK(compare<float, float>(small, kPasses, 5, 1) < kStateTolerance<float>);
  CHECK(compare<float, float>(wide, kPasses, 7, 2) < kStateTolerance<float>);
  CHECK(compare<bf16, float>(small, kPasses, 5, 3) < kStateTolerance<bf16>);
}

TEST_CASE("gates, gated norms, scaled sums and caps on CUDA are the specification's") {
  NEEDS_DEVICE;
  Dice dice(5);
  constexpr int kRows = 3, kHeads = 2, kWidth = 40;
  const auto x = dice.normal<float>(kRows * kHeads * kWidth), gate = dice.normal<float>(kRows * kHeads * kWidth),
             one = dice.normal<float>(kRows);
  Specification cpu(1);
  const Weight w = cpu.store.vector("norm", kWidth);
  std::vector<float> values(kWidth);
  cpu.weights.load("norm", 1, kWidth, values);
  const Tensor held = cpu.floats(x, kHeads * kWidth), gates = cpu.floats(gate, kHeads * kWidth);
  const Tensor normed = cpu.keep(cpu.ops.gated_rms_norm(held, gates, {w, kWidth, 1e-6F})),
               gated_first = cpu.keep(cpu.ops.gated_rms_norm(held, gates, {w, kWidth, 1e-6F, NormGate::silu_first})),
               gate_alone = cpu.keep(cpu.ops.gated_rms_norm(held, gates, {{}, kWidth, 1e-6F, NormGate::sigmoid})),
               squared = cpu.keep(cpu.ops.squared_relu(held)), gated = cpu.keep(cpu.ops.sigmoid_mul(held, gates)),
               by_row = cpu.keep(cpu.ops.sigmoid_mul(held, cpu.floats(one, 1))),
               scaled = cpu.keep(cpu.ops.add_scaled(held, gates, cpu.store.vector("number", 1))),
               capped = cpu.keep(cpu.ops.soft_cap(held, 1.5));
  cpu.ops.flush();
  std::vector<float> scale(1);
  cpu.weights.load("number", 1, 1, scale);
  const Array<float> number(scale, 1);
  const Array<float> in(x, kHeads * kWidth), g(gate, kHeads * kWidth), row(one, 1), weights(values, kWidth),
      y(kRows, kHeads * kWidth);
  const auto result = [&] {
    wait_for_device();
    return y.floats();
  };
  OpRunner d;
  d.run<float>(GatedRmsNorm{d(in), d(g), d.weight(weights), kWidth, 1e-6F, NormGate::silu, d(y)});
  CHECK(distance(result(), cpu.floats_of(normed), 1) < kStateTolerance<float>);
  d.run<float>(GatedRmsNorm{d(in), d(g), d.weight(weights), kWidth, 1e-6F, NormGate::silu_first, d(y)});
  CHECK(distance(result(), cpu.floats_of(gated_first), 1) < kStateTolerance<float>);
  d.run<float>(GatedRmsNorm{d(in), d(g), {}, kWidth, 1e-6F, NormGate::sigmoid, d(y)});
  CHECK(distance(result(), cpu.floats_of(gate_alone), 1) < kStateTolerance<float>);
  d.run<float>(SquaredRelu{d(in), d(y)});
  CHECK(distance(result(), cpu.floats_of(squared), 1) < kStateTolerance<float>);
  d.run<float>(SigmoidMul{d(in), d(g), d(y)});
  CHECK(distance(result(), cpu.floats_of(gated), 1) < kStateTolerance<float>);
  d.run<float>(SigmoidMul{d(in), d(row), d(y)});
  CHECK(distance(result(), cpu.floats_of(by_row), 1) < kStateTolerance<float>);
  d.run<float>(AddScaled{d(in), d(g), d.weight(number), d(y)});
  CHECK(distance(result(), cpu.floats_of(scaled), 1) < kStateTolerance<float>);
  d.run<float>(SoftCap{d(in), 1.5F, d(y)});
  CHECK(distance(result(), cpu.floats_of(capped), 1) < kStateTolerance<float>);
}

TEST_CASE("a GRU's next state on CUDA is the specification's, from a state and from zeros") {
  NEEDS_DEVICE;
  Dice dice(6);
  constexpr int kRows = 3, kColumns = 300;
  const auto x = dice.normal<float>(kRows * 3 * kColumns), g = dice.normal<float>(kRows * 3 * kColumns),
             before = dice.normal<float>(kRows * kColumns);
  Specification cpu(1);
  const Tensor input = cpu.floats(x, 3 * kColumns);
  const Tensor next = cpu.keep(cpu.ops.gru_cell(input, cpu.floats(g, 3 * kColumns), cpu.floats(before, kColumns))),
               first = cpu.keep(cpu.ops.gru_cell(input, {}, {}));
  cpu.ops.flush();
  const Array<float> in(x, 3 * kColumns), gates(g, 3 * kColumns), state(before, kColumns), y(kRows, kColumns);
  OpRunner d;
  d.run<float>(GruCell{d(in), d(gates), d(state), d(y)});
  wait_for_device();
  CHECK(distance(y.floats(), cpu.floats_of(next), 1) < kStateTolerance<float>);
  d.run<float>(GruCell{d(in), {}, {}, d(y)});
  wait_for_device();
  CHECK(distance(y.floats(), cpu.floats_of(first), 1) < kStateTolerance<float>);
}
