// SPDX-License-Identifier: Apache-2.0
// Mutates JSON as JSON, so that most inputs pass the parser: numbers, also those of quantities ("3.35 TB/s"), go to
// extremes, values are copied from one place to another, keys and elements vanish. Every fourth time bytes change.
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using Json = nlohmann::ordered_json;

class Mutator {
 public:
  Mutator(Json& whole, unsigned seed) : random_(seed) { collect(whole); }
  void operator()() {
    Json& node = *any(nodes_);
    switch (below(6)) {
      case 0: node = Json(*any(nodes_)); return;  // a copy, as it may hold itself
      case 1: erase_from(node); return;
      case 2:
        if (node.is_array() && !node.empty()) node.push_back(Json(node[below(node.size())]));
        return;
      default: change(*any(leaves_.empty() ? nodes_ : leaves_));
    }
  }

 private:
  static constexpr std::array<const char*, 22> kNumbers{"0",          "-1",
                                                        "1",          "2",
                                                        "0.5",        "3",
                                                        "1e-30",      "1e30",
                                                        "1e-12",      "1e6",
                                                        "1000",       "5e-324",
                                                        "1e308",      "-1e308",
                                                        "2147483647", "2147483648",
                                                        "1e-6",       "65536",
                                                        "4096",       "1073741824",
                                                        "1.00000001", "9223372036854775807"};

  std::size_t below(std::size_t n) { return random_() % n; }
  Json* any(const std::vector<Json*>& some) { return some[below(some.size())]; }
  std::string number() { return kNumbers[below(kNumbers.size())]; }
  void collect(Json& at) {
    nodes_.push_back(&at);
    if (at.is_structured())
      for (Json& child : at) collect(child);
    else leaves_.push_back(&at);
  }
  void erase_from(Json& node) {
    if (!node.is_structured() || node.empty()) return;
    auto child = node.begin();
    std::advance(child, static_cast<std::ptrdiff_t>(below(node.size())));
    node.erase(child);
  }
  void change(Json& leaf) {
    if (leaf.is_number()) {
      leaf = below(4) == 0 ? Json(leaf.get<double>() * static_cast<double>(below(9))) : Json::parse(number());
    } else if (leaf.is_string()) {
      const std::string text = leaf;
      const auto unit = text.find(' ');
      if (unit != std::string::npos && text.find_first_of("0123456789") < unit) leaf = number() + text.substr(unit);
      else leaf = Json(*any(leaves_));
    } else if (leaf.is_boolean()) {
      leaf = !leaf.get<bool>();
    } else {
      leaf = Json::parse(number());
    }
  }

  std::minstd_rand random_;
  std::vector<Json*> nodes_, leaves_;
};

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  Json whole = Json::parse(data, data + size, nullptr, false);
  if (whole.is_discarded() || seed % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  Mutator(whole, seed)();
  const std::string text = whole.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
