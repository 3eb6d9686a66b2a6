// SPDX-License-Identifier: Apache-2.0
#include "core/input_files.h"

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/int_indexed.h"

namespace draftline {

namespace fs = std::filesystem;

void add_file(InputFiles& to, const fs::path& file, const Files& files) try {
  const auto in = files.open(file);
  Fingerprint all;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (in->read(chunk.data(), std::ssize(chunk)) || in->gcount() > 0)
    all.add(std::string_view(chunk.data(), at(in->gcount())));
  to.insert_or_assign(file, all.value());
} catch (const InputErrors&) {}

std::string input_name(const fs::path& file, const fs::path& data, const fs::path& base) {
  const fs::path below =
      fs::absolute(file).lexically_normal().lexically_relative(fs::absolute(data).lexically_normal());
  if (!below.empty() && *below.begin() != "..") return ("data" / below).generic_string();
  if (base.empty()) return file.lexically_normal().generic_string();
  const fs::path relative =
      fs::absolute(file).lexically_normal().lexically_relative(fs::absolute(base).lexically_normal());
  return (relative.empty() ? file : relative).generic_string();
}

}  // namespace draftline
