// SPDX-License-Identifier: Apache-2.0
// A folder with scenarios, pin files and its own small data folder, which a test may change.
#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include "core/text_file.h"
#include "gate/gate.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline::gate {

inline const std::filesystem::path kShippedData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";

inline const char* const kScenario = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
  "batch_size": [1, 8], "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}}})";

class Rig {
 public:
  Rig() {
    write("s.json", kScenario);
    for (const char* part : {"devices", "transformers", "engines"})
      std::filesystem::copy(kShippedData / part, data() / part, std::filesystem::copy_options::recursive);
  }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path data() const {
    std::filesystem::create_directories(folder_.path() / "data");
    return folder_.path() / "data";
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) const { return read_text_file(path(name)); }
  // In a file; the text must stand there.
  void replace(const std::string& name, const std::string& before, const std::string& after) const {
    std::string text = read(name);
    const auto at = text.find(before);
    INFO(name << " holds " << before);
    REQUIRE(at != std::string::npos);
    write(name, text.replace(at, before.size(), after));
  }

  // A pin file of these pins ({"verb": .., "scenario": ..}, ..), approved.
  PinFile approve(const std::string& pins, const std::string& name = "pins.json") const {
    write(name, R"({"schema_version": 1, "pins": [)" + pins + "]}");
    return approve_again(name);
  }
  PinFile approve_again(const std::string& name = "pins.json") const {
    const PinFile file = read_pins(path(name));
    write_pins(approved(file, recomputed(file)));
    return read_pins(path(name));
  }
  std::vector<Recomputed> recomputed(const PinFile& file) const {
    std::vector<Recomputed> all;
    for (const Pin& pin : file.pins) all.push_back(recompute(pin, file.path, data()));
    return all;
  }
  // The first pin of a file against what is computed now.
  Checked check(const std::string& name = "pins.json", bool exact = false) const {
    const PinFile file = read_pins(path(name));
    return compare(file, file.pins.front(), recompute(file.pins.front(), file.path, data()), exact);
  }

 private:
  FreshFolder folder_;
};

inline const char* const kRunPin = R"({"verb": "run", "scenario": "s.json"})";

inline Json json(const std::string& text) { return Json::parse(text); }

}  // namespace draftline::gate
