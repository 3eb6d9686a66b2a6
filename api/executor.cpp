// SPDX-License-Identifier: Apache-2.0
#include "api/executor.h"

#include <algorithm>
#include <vector>

#include "core/build_info.h"
#include "core/fingerprint.h"

namespace draftline {

void SerialExecutor::run(const OrderedWork& work) {
  const OrderedWork::Worker worker = work.first ? work.first : work.make_worker();
  for (std::size_t piece = 0; piece < work.size && !(stopped_ && stopped_()); ++piece) work.take(worker(piece));
}

std::uint64_t work_id(const InputFiles& files, std::uint64_t option) {
  std::vector<std::uint64_t> contents;  // without names, which may differ between machines
  for (const auto& [file, fingerprint] : files) contents.push_back(fingerprint);
  std::ranges::sort(contents);
  Fingerprint all;
  all.add(build_model());
  all.add(option);
  for (const std::uint64_t one : contents) all.add(one);
  return all.value();
}

}  // namespace draftline
