// SPDX-License-Identifier: Apache-2.0
// Where input files come from: the disk, or a map in memory, so that a scenario and the folder data/ may come from
// anywhere. Only `cli` and the code that measures this machine open files in other ways.
#pragma once
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <istream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace draftline {

inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

class Files {
 public:
  using Path = std::filesystem::path;
  enum class Kind { none, file, folder, other };  // other: a pipe or a device, which can be read once
  virtual ~Files() = default;
  virtual Kind kind(const Path&) const = 0;
  virtual std::vector<Path> list(const Path& folder) const = 0;  // files and folders in it, sorted; or none
  // Throws InputErrors "FILE: no such file". A pipe or a device is refused, because it may block or have no end.
  virtual std::unique_ptr<std::istream> open(const Path&) const = 0;
  // Opens also a pipe or a device, for the file that holds a question.
  virtual std::unique_ptr<std::istream> open_once(const Path& path) const { return open(path); }

  bool exists(const Path& path) const { return kind(path) != Kind::none; }
  bool is_file(const Path& path) const { return kind(path) == Kind::file; }
  bool is_folder(const Path& path) const { return kind(path) == Kind::folder; }
  // The bytes of a file, decompressed if it is gzipped. Throws InputErrors as open() does, or if the file holds more
  // than `most_bytes`, before or after decompression.
  std::string text(const Path&, std::size_t most_bytes = kMostTextBytes) const;
  std::string text_once(const Path&, std::size_t most_bytes = kMostTextBytes) const;  // the same of open_once()
};

const Files& disk();  // the files of this computer

class FilesInMemory : public Files {
 public:
  explicit FilesInMemory(std::map<Path, std::string> files) : files_(std::move(files)) {}
  Kind kind(const Path&) const override;
  std::vector<Path> list(const Path& folder) const override;
  std::unique_ptr<std::istream> open(const Path&) const override;

 private:
  std::map<Path, std::string> files_;  // by paths without "." and ".."
};

// The folder data/ (devices, transformers, engines, papers), and the source of its files and of all other files of a
// question.
struct Data {
  template <std::convertible_to<std::filesystem::path> Path>
  Data(Path&& where, const Files& in = disk()) : folder(std::forward<Path>(where)), files(&in) {}
  std::filesystem::path operator/(const std::filesystem::path& name) const { return folder / name; }

  std::filesystem::path folder;
  const Files* files;  // must outlive all readers
};

}  // namespace draftline
