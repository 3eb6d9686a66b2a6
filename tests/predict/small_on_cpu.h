// SPDX-License-Identifier: Apache-2.0
// A small network on the shipped CPU, and a method whose drafts are heads of it.
#pragma once
#include <filesystem>

#include "predict/prediction.h"

namespace draftline {

struct SmallOnCpu {
  static inline const std::filesystem::path kData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  Device device = read_file(kData / "devices" / "cpu.json", [](const Reader& in) { return read_device(in); });
  Engine engine;
  TransformerShape target = read_file(kData / "validation" / "cpu-small.json", read_transformer);
};

inline MethodSpec spec(const char* object) { return MethodSpec(Document::from_text(object, "method").root()); }

inline const MethodSpec kHeads = spec(R"({"draft_length":3,"name":"medusa"})");

}  // namespace draftline
