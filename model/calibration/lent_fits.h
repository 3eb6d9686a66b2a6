// SPDX-License-Identifier: Apache-2.0
// The file of a GPU that is to be calibrated: a datasheet, and what fits it has or borrows.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "model/calibration/calibrated_files.h"

namespace draftline {

struct DatasheetFile {
  OrderedJson json;
  Device device;
  InputFiles files;               // all that were read for it
  std::vector<std::string> lent;  // fits that the file does not have, whose here are the relative's
  std::string relative;           // the device of `shipped` with kernels of its own that is most like it
};
// A file without "fits", or without some that every GPU has, is read as if it borrowed them from the relative.
// InputErrors with all mistakes.
DatasheetFile read_datasheet_file(const std::filesystem::path& file, const std::filesystem::path& shipped);

// Gives a block that borrows from a relative as the relative's own block, so that it may lie in any file. The
// relative's file lies beside the file that borrows, in `folder`, or in `shipped`. `key`: the block's key in "fits", or
// "links", which gets no tables if the relative has none.
OrderedJson lent(OrderedJson block, const std::string& key, std::filesystem::path folder,
                 const std::filesystem::path& shipped);

}  // namespace draftline
