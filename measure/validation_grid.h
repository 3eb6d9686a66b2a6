// SPDX-License-Identifier: Apache-2.0
// The cells that `draftline validate` decodes: networks, methods, batches and contexts of data/validation/grid.json,
// selected by device and available time.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "methods/decoder.h"

namespace draftline::measure {

// The networks of the grid and their draft networks, from data/validation or else from data/transformers.
class Networks {
 public:
  explicit Networks(const std::filesystem::path& data);
  const TransformerShape& at(const std::string& name) const { return all_.at(name); }
  const std::map<std::string, TransformerShape>& all() const { return all_; }
  Decoder::FindTransformer find() const;  // finds these networks by name
  const std::filesystem::path& file(const std::string& name) const { return files_.at(name); }
  const InputFiles& input_files() const { return input_files_; }  // the networks' files and the grid's

 private:
  std::map<std::string, TransformerShape> all_;
  std::map<std::string, std::filesystem::path> files_;
  InputFiles input_files_;
};

struct GridCell {
  std::string transformer;
  MethodSpec method;
  int batch_size, context;
};
// The cells of a grid. `kind`: "small", "standard" or "full". Throws InputErrors if the device has no such grid.
std::vector<GridCell> validation_grid(const std::filesystem::path& data, std::string_view device,
                                      std::string_view kind);
// The load of the live server, whose network is the first of the grid.
struct ServingLoad {
  MethodSpec method;           // of one server; the other uses plain decoding
  int prompt = 1, output = 2;  // mean tokens of a request
  int max_batch_size = 1;
  double load = 1;  // requests/s, relative to the throughput of full batches
};
ServingLoad serving_load(const std::filesystem::path& data, std::string_view device);

}  // namespace draftline::measure
