// SPDX-License-Identifier: Apache-2.0
// A device that `draftline validate` measures: its title, the format in which it computes, and its decoders, which may
// be used for several cells.
#pragma once
#include <memory>
#include <string>

#include "measure/decoding.h"
#include "probes/memory_reference.h"

namespace draftline::measure {

class ValidationDevice {
 public:
  virtual ~ValidationDevice() = default;
  virtual std::string title() const = 0;
  virtual DType format() const = 0;
  // Decoders of plain decoding and of the cell's method, ready for start_batch(). They live until the next call.
  struct Pair {
    Decoding &plain, &method;
  };
  virtual Pair decodings(const GridCell&) = 0;
  // A decoder for a live server; all other decoders are dropped. On a GPU its acceptance is forced.
  virtual std::unique_ptr<Decoding> server(const std::string& network, const MethodSpec&, int slots, int longest) = 0;
  virtual std::optional<MemoryTimes> memory_times() { return {}; }  // current readings, on a CPU
  virtual void keep() {}                                            // saves the chosen algorithms for later runs
  virtual void forget() = 0;                                        // drops all decoders, because one failed
};

// `slots`, `longest_context`: the largest batch and context of any cell. The references must outlive it.
std::unique_ptr<ValidationDevice> this_cpu(const Networks&, int slots, int longest_context, CpuReferences&);
// `rate`: the acceptance rate of drafts. `algorithms`: the file that stores the algorithms of matrix products. Throws
// DeviceError if there is no GPU.
std::unique_ptr<ValidationDevice> this_gpu(const Networks&, double rate, const std::filesystem::path& algorithms);

}  // namespace draftline::measure
