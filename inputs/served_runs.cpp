// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_runs.h"

#include <algorithm>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/text_file.h"
#include "inputs/formats/json_values.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

std::string titles() {
  std::string all;
  for (const ServedFormat& format : served_formats()) all += (all.empty() ? "" : ", ") + std::string(format.title);
  return all;
}

std::vector<ServedRun> read_results(const std::filesystem::path& file, const ServedArguments& arguments) {
  const std::vector<Document> documents = json_documents(read_text_file(file), file);
  const ServedValues values = json_values(documents);
  if (values.empty()) throw InputErrors(printable(file.string(), 1000) + "#: contains no benchmark result");
  std::vector<ServedRun> runs;
  const Reader& first = values.front();
  const auto format =
      std::ranges::find_if(served_formats(), [&](const ServedFormat& f) { return first.is_object() && f.is(first); });
  if (format != served_formats().end()) runs = format->read(values, arguments);
  else first.fail("is not a known benchmark result; known: " + titles());
  for (const Document& document : documents) document.finish();
  return runs;
}

}  // namespace

std::filesystem::path served_file(const std::string& argument) {
  const std::size_t at = argument.rfind('@'), folder = argument.rfind('/');
  if (at == std::string::npos || (folder != std::string::npos && at < folder)) return argument;
  return argument.find('=', at) == std::string::npos ? argument : argument.substr(0, at);
}

std::vector<ServedRun> read_served_runs(const std::string& argument) {
  const std::filesystem::path file = served_file(argument);
  const ServedArguments arguments(argument, std::min(file.native().size() + 1, argument.size()));
  std::filesystem::path form = file;
  if (form.extension() == ".gz") form.replace_extension();
  std::vector<ServedRun> runs;
  if (form.extension() == ".csv") runs = read_served_table(file);
  else if (form.extension() == ".json" || form.extension() == ".jsonl") runs = read_results(file, arguments);
  else if (form.extension() == ".parquet") throw InputErrors(parquet_hint(file));
  else
    throw InputErrors(printable(file.string(), 1000) + ": must be a .json, .jsonl or .csv file, optionally with .gz");
  if (runs.empty()) throw InputErrors(printable(file.string(), 1000) + ": contains no runs");
  for (ServedRun& run : runs) arguments.complete(run);
  return runs;
}

}  // namespace draftline
