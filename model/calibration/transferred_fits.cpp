// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/transferred_fits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/files.h"
#include "core/json_in_order.h"
#include "core/text_file.h"
#include "model/kernels/kernel_time.h"

namespace draftline {
namespace {

namespace fs = std::filesystem;

// What every GPU's file has; what else it may have is not missed.
constexpr std::array<const char*, 3> kNeeded{"gemm", "attention", "copy"};

std::vector<std::string> missing_fits(const OrderedJson& file) {
  const OrderedJson none = OrderedJson::object();
  const OrderedJson& fits = file.contains("fits") ? file.at("fits") : none;
  if (!fits.is_object() || fits.contains("cpu")) return {};
  std::vector<std::string> missing;
  for (const char* key : kNeeded) {
    const bool unnamed = std::string_view(key) == "attention" &&
                         (fits.contains("decode_attention") || fits.contains("prefill_attention"));  // as of before
    if (!fits.contains(key) && !unnamed) missing.push_back(key);
  }
  return missing;
}

OrderedJson with_transferred(OrderedJson file, const std::vector<std::string>& missing, const std::string& relative) {
  for (const std::string& key : missing)
    file["fits"][key] = {{"borrowed_from", relative},
                         {"because",
                          "not measured; of the shipped devices with kernels of their own the nearest in "
                          "bandwidth and peak"}};
  return file;
}

double distance(const Device& a, const Device& b) {
  return std::abs(std::log(a.bandwidth / b.bandwidth)) +
         std::abs(std::log(matrix_rate(a, DType::bf16, DType::bf16) / matrix_rate(b, DType::bf16, DType::bf16)));
}

struct Relative {
  std::string name;
  Device device;
};
std::vector<Relative> relatives(const fs::path& shipped) {
  std::vector<Relative> all;
  for (const fs::path& file : disk().list(shipped)) {
    if (file.extension() != ".json") continue;
    Device d = device_of(file, shipped);
    if (d.cpu() == nullptr && !d.has_transferred_fits()) all.push_back({file.stem().string(), std::move(d)});
  }
  if (all.empty()) throw InputErrors(shipped.string() + ": has no device with fits of its own");
  std::sort(all.begin(), all.end(), [](const Relative& a, const Relative& b) { return a.name < b.name; });
  return all;
}

bool has_link_traits(const OrderedJson& block) {
  return std::ranges::any_of(kLinkTraits, [&](std::string_view key) { return block.contains(key); });
}

// The parts of a block that have an origin each.
std::vector<OrderedJson*> parts_of(OrderedJson& block, const std::string& key) {
  std::vector<OrderedJson*> parts;
  if (key == "libraries") {
    for (OrderedJson& library : block)
      for (OrderedJson& fit : library) parts.push_back(&fit);
  } else if (block.contains("kernels")) {
    for (OrderedJson& kernel : block.at("kernels"))
      for (const char* use : {"decode", "prefill"})
        if (kernel.contains(use)) parts.push_back(&kernel.at(use));  // else it is transferred itself
  } else if (block.contains("tables")) {
    for (OrderedJson& table : block.at("tables")) parts.push_back(&table);
  } else if (block.contains("groups") || !has_link_traits(block)) {
    parts.push_back(&block);
  }
  return parts;
}

}  // namespace

DatasheetFile read_datasheet_file(const fs::path& file, const fs::path& shipped) {
  const auto device_in = [&](const Document& d) {
    return read_whole(d, [&](const Reader& in) { return read_device(in, shipped); });
  };
  const Document whole = Document::from_file(file);
  DatasheetFile read{json_in_order(read_text_file(file)), {}, whole.root().input_files(), {}, {}};
  const std::vector<std::string> missing = missing_fits(read.json);
  if (!read.json.is_object() || missing.empty()) {
    read.device = device_in(whole);
    read.files = whole.root().input_files();
    return read;
  }
  const std::vector<Relative> all = relatives(shipped);
  const auto with = [&](const std::string& relative) {
    return Document::from_text(with_transferred(read.json, missing, relative).dump(), file);
  };
  const Device datasheet = device_in(with(all.front().name));
  const auto nearest = std::min_element(all.begin(), all.end(), [&](const Relative& a, const Relative& b) {
    return distance(a.device, datasheet) < distance(b.device, datasheet);
  });
  const Document completed = with(nearest->name);
  read.device = device_in(completed);
  read.json = with_transferred(std::move(read.json), missing, nearest->name);
  read.files.insert(completed.root().input_files().begin(), completed.root().input_files().end());
  read.transferred = missing;
  read.relative = nearest->name;
  return read;
}

// Replaces attention's transferred kernels by the relative's kernels of latent attention, for which they stand.
static void take_transferred_kernels(OrderedJson& attention, const fs::path& folder, const fs::path& shipped) {
  OrderedJson kernels = OrderedJson::array();
  for (const OrderedJson& kernel : attention.at("kernels")) {
    if (!kernel.contains("borrowed_from")) {
      kernels.push_back(kernel);
      continue;
    }
    const OrderedJson relative = transferred(kernel, "attention", folder, shipped);
    for (const OrderedJson& own : relative.at("kernels"))
      if (own.contains("form")) kernels.push_back(own);
  }
  attention["kernels"] = std::move(kernels);
}

// A relative's links as read_device() transfers them: what the device has of its own wins, and which devices they are
// is not transferred.
static OrderedJson with_own_traits(OrderedJson links, const OrderedJson& own) {
  links.erase("compute_capability");
  for (const std::string_view trait : kLinkTraits)
    if (own.contains(trait)) links[std::string(trait)] = own.at(std::string(trait));
  return links;
}

OrderedJson transferred(OrderedJson block, const std::string& key, fs::path folder, const fs::path& shipped) {
  std::string because;
  while (block.contains("borrowed_from")) {  // no ring: the device was read before
    const std::string relative = block.at("borrowed_from");
    because += (because.empty() ? "of " : "; of ") + relative + ": " + block.at("because").get<std::string>();
    const fs::path beside = folder / (relative + ".json");
    const fs::path file = disk().exists(beside) ? beside : shipped / (relative + ".json");
    const OrderedJson whole = json_in_order(read_text_file(file));
    const OrderedJson& blocks = key == "links" ? whole : whole.at("fits");
    const std::string there = key == "links" && !whole.contains(key) ? "all_reduce" : key;
    if (!blocks.contains(there) && key == "links") return with_own_traits(OrderedJson::object(), block);
    if (!blocks.contains(there))
      throw InputErrors(file.string() + "#/fits: has no \"" + key + "\" to transfer" +
                        (key.ends_with("_attention") ? "; transfer \"attention\" as a whole" : ""));
    block = key == "links" ? with_own_traits(blocks.at(there), block) : blocks.at(there);
    folder = file.parent_path();
  }
  if (key == "attention" && block.contains("kernels")) take_transferred_kernels(block, folder, shipped);
  if (because.empty() || block.empty()) return block;
  for (OrderedJson* part : parts_of(block, key)) {
    const std::string before = part->value("because", std::string());
    (*part)["because"] = because + (before.empty() ? "" : "; there: " + before);
    if (key == "links") continue;
    for (const char* error : {"interval", "covariance"}) part->erase(error);  // of the relative's own kernels
  }
  return block;
}

}  // namespace draftline
