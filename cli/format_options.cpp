// SPDX-License-Identifier: Apache-2.0
#include "cli/format_options.h"

#include <algorithm>

namespace draftline::cli {

bool Formats::has(Format format) const {
  return printed == format || std::ranges::any_of(files, [&](const File& f) { return f.format == format; });
}

std::string FormatOptions::One::file() const {
  return taken_back || format == Format::markdown || option->count() == 0 ? std::string() : option->results().front();
}

void FormatOptions::add(CLI::App& verb, const std::string& about_json, Csv csv) {
  const auto add_one = [&](const char* name, Format format, const std::string& about) {
    const std::string whole = about + "; or in FILE, beside what is printed";  // CLI11 takes no temporary here
    CLI::Option* option = verb.add_option(name, whole);
    all_.push_back({format, option->expected(0, 1)->type_name("[FILE]")});
  };
  add_one("--json", Format::json, about_json + " on standard output");
  add_one("--html", Format::html, "a page with charts, for a browser, on standard output");
  if (csv == Csv::yes) add_one("--csv", Format::csv, "CSV on standard output");
}

void FormatOptions::add_markdown(CLI::App& verb) {
  const std::string about = "Markdown on standard output";
  all_.push_back({Format::markdown, verb.add_flag("--markdown", about)});
}

const FormatOptions::One* FormatOptions::with_word() const {
  const auto has_word = [](const One& one) { return !one.file().empty(); };
  const auto found = std::ranges::find_if(all_, has_word);  // --json is the first
  if (found == all_.end() || (found != all_.begin() && std::ranges::count_if(all_, has_word) > 1)) return nullptr;
  return &*found;
}

std::string FormatOptions::word() const {
  const One* one = with_word();
  return one == nullptr ? std::string() : one->file();
}

std::string FormatOptions::take_back() {
  const std::string taken = word();
  if (const One* found = with_word()) all_[static_cast<std::size_t>(found - all_.data())].taken_back = true;
  return taken;
}

Formats FormatOptions::chosen() const {
  Formats formats;
  const One* printed = nullptr;
  for (const One& one : all_) {
    if (one.option->count() == 0) continue;
    const std::string file = one.file();
    if (!file.empty()) {
      formats.files.push_back({one.option->get_name(), one.format, file});
      continue;
    }
    if (printed != nullptr) throw CLI::ExcludesError(one.option->get_name(), printed->option->get_name());
    printed = &one;
    formats.printed = one.format;
  }
  return formats;
}

}  // namespace draftline::cli
