// SPDX-License-Identifier: Apache-2.0
// The file of a GPU that is to be calibrated: a datasheet, with fits of its own or transferred from a relative.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/calibration/calibrated_files.h"

namespace draftline {

struct DatasheetFile {
  OrderedJson json;
  Device device;
  InputFiles files;                      // all that were read for it
  std::vector<std::string> transferred;  // fits that the file does not have, whose here are the relative's
  std::string relative;                  // the device of `shipped` with kernels of its own that is most like it
};
// A file without "fits", or without some that every GPU has, is read as if they were transferred from the relative.
// InputErrors with all mistakes.
DatasheetFile read_datasheet_file(const std::filesystem::path& file, const std::filesystem::path& shipped);

// Replaces a block that names a relative by the relative's own block, so that it may lie in any file. The relative's
// file lies in `folder`, that of the file with the block, or in `shipped`. `key`: the block's key in "fits", or
// "links", which gets no tables if the relative has none.
OrderedJson transferred(OrderedJson block, const std::string& key, std::filesystem::path folder,
                        const std::filesystem::path& shipped);

}  // namespace draftline
