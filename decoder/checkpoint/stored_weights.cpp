// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_weights.h"

#include <algorithm>
#include <array>

#include "core/errors.h"
#include "core/json_parse.h"

namespace draftline {

int StoredPart::column_of(int stored) const {
  if (pairs.every == 0) return column + stored;
  const int at = stored % pairs.every - pairs.from, half = pairs.rotated / 2;
  return column + stored + (at < 0 || at >= pairs.rotated ? 0 : at / 2 + at % 2 * half - at);
}

std::vector<std::uint64_t> StoredPart::stored_shape() const {
  const int inputs = of == 0 ? in : of, all_rows = rows == 0 ? (transposed ? out : in) : rows;
  const std::uint64_t i = transposed ? inputs : all_rows, o = transposed ? all_rows : out;
  if (convolution) return {o, 1, i};
  if (const std::uint64_t n = stacked; n > 0) return transposed ? std::vector{n, o / n, i} : std::vector{n, i / n, o};
  if (!transposed) return {i, o};
  return in == 1 ? std::vector{o} : std::vector{o, i};
}

StoredWeight side_by_side(const std::string& name, int in, int out, std::vector<StoredPart> parts) {
  int row = 0, column = 0;
  for (StoredPart& p : parts) {
    p.row = row;
    p.column = column;
    column += p.out;
    if (column == out) {
      column = 0;
      row += p.in;
    }
  }
  check(row == in && column == 0, "the parts of a weight fill it");
  return {name, in, out, std::move(parts)};
}

StoredWeight stored_matrix(const std::string& name, const std::string& tensor, int in, int out, double times) {
  StoredPart part{tensor, in, out};
  part.times = single(times);
  return side_by_side(name, in, out, {part});
}
StoredWeight stored_vector(const std::string& name, const std::string& tensor, int n) {
  return side_by_side(name, 1, n, {{tensor, 1, n}});
}

StoredWeight stored_table(const std::string& name, const std::string& tensor, int rows, int columns) {
  StoredPart part{tensor, rows, columns};
  part.transposed = false;
  return side_by_side(name, rows, columns, {part});
}

StoredWeight stored_norm(std::string_view architecture, const std::string& name, const std::string& tensor, int n) {
  StoredPart part{tensor + ".weight", 1, n};
  constexpr std::array<std::string_view, 3> kLessOne{"Gemma3", "Qwen3Next", "Qwen3_5"};
  for (const std::string_view family : kLessOne)
    if (architecture.starts_with(family)) part.plus = 1;
  return side_by_side(name, 1, n, {part});
}

bool TensorCheck::enough() const { return mistakes_.size() >= kMostMessages; }

void TensorCheck::expect(const std::vector<StoredWeight>& weights) {
  for (const StoredWeight& weight : weights)
    for (const StoredPart& part : weight.parts) {
      if (!asked_.insert(part.tensor).second) continue;  // one tensor may hold many parts
      values_.expect(part.tensor, part.stored_shape(), used_, mistakes_);
    }
}

void TensorCheck::refuse_others(const std::function<bool(const std::string& tensor)>& ignored) {
  if (!mistakes_.empty()) return;
  for (const std::string& tensor : files_.tensors())
    if (!used_.contains(tensor) && !ignored(tensor))
      mistakes_.push_back(files_.place(tensor) + ": the described network has no such weight");
}

void TensorCheck::finish() {
  if (mistakes_.empty()) return;
  if (mistakes_.size() > kMostMessages) {
    mistakes_.resize(kMostMessages);
    mistakes_.push_back(files_.shown_folder() + ": and more tensors are wrong or missing");
  }
  throw InputErrors(std::move(mistakes_));
}

// One contiguous run of values.
static void copy_as_stored(const StoredValues& from, const StoredPart& p, std::span<float> values) {
  const std::uint64_t columns = p.out;
  from.read(p.tensor, (p.transposed ? 0 : p.skipped) * columns, columns, values);
  if (p.times != 1 || p.plus != 0)
    for (float& v : values) v = v * p.times + p.plus;
  if (p.pairs.every == 0) return;
  const auto wide = at(p.out);
  for (std::size_t first = 0; first < values.size(); first += wide) {
    const std::span<float> row = values.subspan(first, wide);
    const std::vector<float> stored(row.begin(), row.end());
    for (int i = 0; i < p.out; ++i) row[at(p.column_of(i) - p.column)] = stored[at(i)];
  }
}

static void copy(const StoredValues& from, const StoredPart& p, std::span<float> to, int columns) {
  const auto in = at(p.in), stride = at(columns);
  if (!p.transposed || p.in == 1) {
    const auto first = at(p.row) * stride + at(p.column);
    return copy_as_stored(from, p, to.subspan(first, in * at(p.out)));
  }
  // Several stored rows are read at a time, so that most values are written in contiguous runs.
  constexpr int kRows = 64;
  const auto of = p.of == 0 ? in : at(p.of), skip = at(p.first);
  std::vector<float> rows;
  for (int first = 0; first < p.out; first += kRows) {
    const auto now = at(std::min(kRows, p.out - first));
    rows.resize(now * of);
    from.read(p.tensor, (p.skipped + first) * of, of, rows);
    float* corner = to.data() + at(p.row) * stride;
    std::array<std::size_t, kRows> column;
    for (int r = 0; r < std::min(kRows, p.out - first); ++r) column[at(r)] = at(p.column_of(first + r));
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t r = 0; r < now; ++r) corner[i * stride + column[r]] = p.times * rows[r * of + skip + i];
  }
}

void load_stored(const StoredValues& values, const std::vector<StoredWeight>& weights, const std::string& name, int in,
                 int out, std::span<float> to) {
  const std::string where = values.files().shown_folder() + ": weight " + in_quotes(name);
  const auto it = std::find_if(weights.begin(), weights.end(), [&](const StoredWeight& w) { return w.name == name; });
  if (it == weights.end()) throw InputErrors(where + " is not in the checkpoint");
  if (it->in != in || it->out != out)
    throw InputErrors(where + " is [" + std::to_string(it->in) + ", " + std::to_string(it->out) + "], but [" +
                      std::to_string(in) + ", " + std::to_string(out) + "] was asked for");
  check(to.size() == at(in) * at(out), "room for the weight");
  for (const StoredPart& part : it->parts) copy(values, part, to, out);
}

}  // namespace draftline
