// SPDX-License-Identifier: Apache-2.0
// What differs between the devices that `draftline validate` measures: how they are called, the format they compute in, and
// when a decoder can serve the next cell too.
#pragma once
#include <memory>
#include <string>

#include "measure/decoding.h"

namespace draftline::measure {

class ValidationDevice {
 public:
  virtual ~ValidationDevice() = default;
  virtual std::string title() const = 0;
  virtual DType format() const = 0;
  // Plain decoding and the cell's method, ready for start_batch(). They live until the next call.
  struct Pair {
    Decoding &plain, &method;
  };
  virtual Pair decodings(const GridCell&) = 0;
  // A decoder of its own that serves; none of the others lives on. What is accepted is live, or forced on a GPU.
  virtual std::unique_ptr<Decoding> server(const std::string& network, const MethodSpec&, int slots, int longest) = 0;
  virtual void keep() {}      // what was chosen here, for other runs
  virtual void forget() = 0;  // all decoders: one of them failed
};

// `slots`, `longest_context`: the most of any cell.
std::unique_ptr<ValidationDevice> this_cpu(const Networks&, int slots, int longest_context, ClockReference&);
// `rate`: at which drafts are accepted. `algorithms`: file of those of matrix products. DeviceError where there is no GPU.
std::unique_ptr<ValidationDevice> this_gpu(const Networks&, double rate, const std::filesystem::path& algorithms);

}  // namespace draftline::measure
