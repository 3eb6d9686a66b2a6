// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/ignored_modules.h"

#include <algorithm>
#include <array>
#include <optional>

namespace draftline {

namespace {

constexpr std::size_t kMostGlobs = 256, kLongestGlob = 200;
constexpr int kMostNamed = 512;  // layers of a network that is more than a slip of the pen
constexpr char kAnyText = '*', kOneLetter = '?';

// '*' is any text and '?' any character. In time |glob| x |text|.
bool matches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == kAnyText) {
      star = g++;
      from = t;
    } else if (g < glob.size() && (glob[g] == text[t] || glob[g] == kOneLetter)) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == kAnyText) ++g;
  return g == glob.size();
}

// A regular expression of literals, ".", ".*", "\d+" and anchors as a glob; none for what says more. It must match from
// the module's first character, as Python's re.match.
std::optional<std::string> glob_of(std::string_view regex) {
  std::string glob;
  bool open = true;  // at its end
  const auto repeated = [&](std::size_t i) { return i < regex.size() && (regex[i] == '*' || regex[i] == '+'); };
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '^' && i == 0) continue;
    if (c == '$' && i + 1 == regex.size()) {
      open = false;
    } else if (c == '.' || (c == '\\' && i + 1 < regex.size() && regex[i + 1] == 'd')) {
      if (c == '\\') ++i;
      const bool many = repeated(i + 1);
      glob += many ? kAnyText : kOneLetter;
      i += many;
    } else if (c == '\\' && i + 1 < regex.size()) {
      glob += regex[++i];
    } else if (std::string_view("()[]{}|?*+").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      glob += c;
    }
  }
  return open ? glob + kAnyText : glob;
}

}  // namespace

ModuleList::ModuleList(const std::vector<std::string>& entries) {
  constexpr std::string_view kRegex = "re:";
  const auto add = [&](const std::string& glob, const std::string& entry) {
    if (globs_.size() < kMostGlobs && glob.size() <= kLongestGlob) globs_.push_back(glob);
    else not_understood_.push_back(entry);
  };
  for (const std::string& entry : entries) {
    if (entry.starts_with(kRegex)) {
      if (const auto glob = glob_of(std::string_view(entry).substr(kRegex.size()))) add(*glob, entry);
      else not_understood_.push_back(entry);
    } else if (entry.find(kAnyText) != std::string::npos) {
      add(entry, entry);
      add(entry + ".*", entry);  // what lies below
    } else {
      names_.insert(entry);
    }
  }
}

bool ModuleList::has(std::string_view module) const {
  std::size_t last = 0;  // begin of the last part
  for (std::size_t end = module.find('.');; end = module.find('.', end + 1)) {
    const std::string_view whole = module.substr(0, end);
    if (names_.contains(std::string(whole)) || names_.contains(std::string(whole.substr(last)))) return true;
    if (end == std::string_view::npos) break;
    last = end + 1;
  }
  for (const std::string& glob : globs_)
    if (matches(glob, module)) return true;
  return false;
}

IgnoredShares ignored_shares(const ModuleList& list, const TransformerShape& s) {
  static constexpr std::array<std::string_view, 4> kAttention{"q_proj", "k_proj", "v_proj", "o_proj"};
  static constexpr std::array<std::string_view, 3> kMlp{"gate_proj", "up_proj", "down_proj"};
  double attention = 0, mlp = 0, experts = 0;
  const int layers = std::min(s.layers(), kMostNamed);
  int dense = 0;
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const std::string_view name : kAttention) attention += list.has(layer + "self_attn." + std::string(name));
    const bool is_dense = s.layer(i).experts() == nullptr;
    dense += is_dense;
    for (const std::string_view name : kMlp) {
      if (is_dense) mlp += list.has(layer + "mlp." + std::string(name));
      else experts += list.has(layer + "mlp.experts.0." + std::string(name));
    }
  }
  const auto share = [](double n, double of) { return of > 0 ? n / of : 0; };
  IgnoredShares shares;
  shares.attention = share(attention, 1.0 * layers * kAttention.size());
  shares.mlp = share(mlp, 1.0 * dense * kMlp.size());
  shares.experts = share(experts, static_cast<double>(layers - dense) * kMlp.size());
  shares.lm_head = list.has("lm_head");
  return shares;
}

}  // namespace draftline
