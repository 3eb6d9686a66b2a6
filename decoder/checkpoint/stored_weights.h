// SPDX-License-Identifier: Apache-2.0
// The mapping of our weights to a checkpoint's tensors: the tensors of a weight, a check of their shapes, and their
// values.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_values.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// A stored matrix [out, in], or vector [out], and the row and column of its first value in our weight, which is its
// transpose.
struct StoredPart {
  std::string tensor;
  int in = 0, out = 0, row = 0, column = 0;
  bool transposed = true;  // false: stored in our layout, like the embedding
  // Of each group of `every` stored rows, the `rotated` rows from `from` on are rotated by rope, with the two rows of a
  // pair adjacent; our weight has the first rows of all pairs before the second rows. 0: none.
  struct Pairs {
    int every = 0, from = 0, rotated = every - from;
  } pairs = {};
  float plus = 0;             // added to every value: Gemma and Qwen3-Next store norms minus one
  int stacked = 0;            // matrices of this many experts, [experts, out, in], or not transposed; 0: one matrix
  int first = 0, of = 0;      // the part is inputs first .. first + in of a matrix [out, of]; of 0: whole matrix
  int skipped = 0, rows = 0;  // where it is rows skipped .. skipped + out of a matrix [rows, in], or, not transposed,
                              // skipped .. skipped + in of [rows, out]; rows 0: all of it
  bool convolution = false;   // stored [out, 1, in]
  float times = 1;            // factor on every value: MiMo-V2's values, MatrixFactors

  int column_of(int stored) const;
  std::vector<std::uint64_t> stored_shape() const;
};

struct StoredWeight {  // the stored parts of one of our weights
  std::string name;
  int in = 0, out = 0;
  std::vector<StoredPart> parts;
};

// Places parts next to each other; when the columns are full, the next part begins below.
StoredWeight side_by_side(const std::string& name, int in, int out, std::vector<StoredPart> parts);
StoredWeight stored_matrix(const std::string& name, const std::string& tensor, int in, int out, double times = 1);
StoredWeight stored_vector(const std::string& name, const std::string& tensor, int n);
StoredWeight stored_table(const std::string& name, const std::string& tensor, int rows, int columns);  // in our layout
// The stored weight of a norm; `tensor` without ".weight".
StoredWeight stored_norm(std::string_view architecture, const std::string& name, const std::string& tensor, int n);
// Collects the mistakes in a checkpoint's tensors.
class TensorCheck {
 public:
  explicit TensorCheck(StoredValues values) : files_(values.files()), values_(std::move(values)) {}
  void expect(const std::vector<StoredWeight>&);
  void use(const std::string& tensor) { used_.insert(tensor); }
  bool any() const { return !mistakes_.empty(); }
  bool enough() const;  // a few mistakes end a check, because config.json may contain any number of layers
  // Notes unused tensors for which `ignored` is false.
  void refuse_others(const std::function<bool(const std::string& tensor)>& ignored);
  void fail(std::string message) { mistakes_.push_back(std::move(message)); }
  void finish();  // throws InputErrors if there are mistakes

 private:
  const CheckpointFiles& files_;
  StoredValues values_;
  std::vector<std::string> mistakes_;
  StoredValues::Names asked_, used_;  // asked_: those of parts
};

// Fills `to` with the weight `name` of `weights`. Throws InputErrors if it is not among them or does not have the shape
// [in, out]. Reads a tensor in parts, so that it needs little memory in addition to `to`. Thread-safe.
void load_stored(const StoredValues&, const std::vector<StoredWeight>& weights, const std::string& name, int in,
                 int out, std::span<float> to);

}  // namespace draftline
