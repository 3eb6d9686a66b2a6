// SPDX-License-Identifier: Apache-2.0
#include "api/question.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace draftline {

bool is_question_verb(const std::string& name) {
  static constexpr std::array<std::string_view, 6> kVerbs{"run", "simulate", "plan", "advise", "papers", "calibrate"};
  return std::ranges::find(kVerbs, name) != kVerbs.end();
}

std::string Question::name() const {
  std::string words = verb;
  for (const std::string& paper : papers) words += " " + paper;
  return file.empty() ? words : words + " " + file.filename().generic_string();
}

std::string read_verb(const Reader& in) {
  std::string verb = in.text();
  if (!in.is_string() || is_question_verb(verb)) return verb;
  in.fail("\"" + verb + "\" is no verb whose answers can be asked for again");
  return "";
}

std::uint64_t read_seed(const Reader& in) {
  if (in.json().is_number_unsigned()) return in.json().get<std::uint64_t>();
  in.fail("must be a whole number from 0 to 2^64 - 1");
  return 0;
}

Question question_of(const Document& document) {
  return read_whole(document, [&](const Reader& root) {
    Question q;
    if (!root.is_object() || !root.has("question"))
      throw InputErrors(root.file().string() +
                        ": holds no \"question\": an older draftline printed it, or another program");
    const Reader in = root.at("question");
    q.verb = read_verb(in.at("verb"));
    if (q.verb == "papers") {
      for (const Reader& name : in.at("names").items()) q.papers.push_back(name.text());
    } else {
      q.file = in.at("file").text();
      q.text = in.at("scenario").json().dump();
    }
    if (const auto seed = in.find("seed")) q.seed = read_seed(*seed);
    const auto flag = [&](const char* name) {
      const auto set = in.find(name);
      return set && set->boolean();
    };
    q.options = {.kernels = flag("explain"),
                 .oracle = !flag("no_oracle"),
                 .intervals = !flag("no_intervals"),
                 .load = !flag("no_load")};
    constexpr std::int64_t kMostPoints = std::int64_t{1} << 40;
    if (const auto from = in.find("from")) q.options.from = at(from->long_integer(0, kMostPoints));
    if (const auto most = in.find("max_devices")) q.options.most_devices = most->positive_int(100'000);
    if (q.verb == "plan") {
      const auto headroom = in.find("headroom");  // older programs had none
      q.options.headroom = headroom ? headroom->number(0, kMostHeadroom) : 0;
    }
    in.done();
    return q;
  });
}

}  // namespace draftline
