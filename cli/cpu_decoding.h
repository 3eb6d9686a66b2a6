// SPDX-License-Identifier: Apache-2.0
// Decoders on this machine's CPU for `draftline validate`: the networks and methods of its grid, random weights, contexts
// that are assumed where only their cost counts.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "methods/decoder.h"
#include "probes/step_clock.h"
#include "sim/validation.h"

namespace draftline::cli {

// The networks of data/validation, by name: "cpu-small" fits a processor's last cache, "cpu-large" does not; "NAME-draft":
// its draft network.
class Networks {
 public:
  explicit Networks(const std::filesystem::path& data);
  const TransformerShape& at(const std::string& name) const { return all_.at(name); }
  const std::map<std::string, TransformerShape>& all() const { return all_; }
  Decoder::FindTransformer find() const;  // by the names here

 private:
  std::map<std::string, TransformerShape> all_;
};

struct GridCell {
  std::string transformer, method;  // method: its object, JSON
  int batch_size, context;
};
enum class GridKind { small, standard, full };
std::vector<GridCell> validation_grid(GridKind);

// One method on one network, ready to be stepped at any batch size.
class CpuDecoding {
 public:
  // `late_layers`: size of what layers from the third on add. Small: a drafter that leaves early is often right.
  CpuDecoding(const Networks&, const std::string& target, const std::string& method, int seats, int longest_context,
              Yardstick&, float late_layers = 1);
  // `batch_size` sequences of that committed length.
  void seat(int batch_size, int context);
  StepClock& clock() { return *clock_; }
  Generator& generator() { return decoder_->generator; }
  const Method& method() const { return *decoder_->method; }
  const TransformerShape& target() const { return target_; }

 private:
  class Weights : public WeightSource {
   public:
    explicit Weights(float late_layers) : late_layers_(late_layers) {}
    void load(const std::string& name, int in, int out, std::span<float> to) override;

   private:
    float late_layers_;
  };
  TransformerShape target_;
  Yardstick& yardstick_;
  Weights weights_;
  Document document_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<StepClock> clock_;
};

// Times one cell: the method's steps and plain ones in turn. `plain` and `method` are on the same network.
MeasuredCell measure(const GridCell&, CpuDecoding& plain, CpuDecoding& method, int turns, Seconds patience);

}  // namespace draftline::cli
