// SPDX-License-Identifier: Apache-2.0
// Parameters of methods as typed values. A method's file declares a struct of members with their defaults and one list
// of fields, each with key, member, range and meaning; reading, comparison, JSON and the text of `draftline list
// methods` follow from the list. Docs: docs/recipes/new_method.md.
#pragma once
#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_schema.h"
#include "core/mistake.h"
#include "core/named.h"
#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline::methods {

// The base of the struct of a method's own parameters.
struct Parameters {
  virtual ~Parameters() = default;
};

// A member with a default. One without is a std::optional, or a vector, which is empty unless the file gives it.
template <class T>
struct Setting {
  T value;
  bool given = false;
  Setting(T usual) : value(usual) {}
  Setting& operator=(T v) {
    value = v;
    given = true;
    return *this;
  }
  operator const T&() const { return value; }
};

// The network that verifies, as far as ranges of parameters depend on it.
struct Target {
  const TransformerShape& shape;  // of one rank
  int vocabulary;                 // of all ranks
};
inline int vocabulary_of(const Target& t) { return t.vocabulary; }
inline int last_token_of(const Target& t) { return t.vocabulary - 1; }
inline int ranks_of(const Target& t) { return std::min(64, t.shape.vocabulary); }  // candidates of a level
inline int last_layer_of(const Target& t) { return t.shape.layers() - 1; }

// What depends on a parameter: the network or heads that draft, what they draft and how that is judged, or a price.
enum class Decides { drafter, drafts, price };

struct Traits {
  std::string meaning = {};    // for people
  std::string usual = {};      // the default for people, where no member holds it
  std::string_view also = {};  // another tool's key
  Decides decides = Decides::drafter;
  bool in_checkpoint = false;            // a checkpoint decides it, so that it can't stand beside one
  int (*most)(const Target&) = nullptr;  // the largest value for a target, of each element of a list
};

struct Parameter {
  std::string_view key;
  Traits traits;
  std::function<void(Parameters&, const Reader& value)> read;         // mistakes are noted
  std::function<nlohmann::json(const Parameters&, bool given)> json;  // null unless it is given, or has a default
  std::function<void(Parameters&)> reset;                             // to its default
  schema::Json values;                                                // the JSON Schema of its values
};
template <class P>
struct Field : Parameter {};  // of a struct P

// The list of a method's own parameters, and functions of values of their struct.
class ParameterList {
 public:
  ParameterList() : ParameterList(std::vector<Field<Parameters>>()) {}
  template <class P>
  ParameterList(std::vector<Field<P>> all) : copy_(copy<P>), all_(all.begin(), all.end()) {}
  template <class P>
  ParameterList(std::initializer_list<Field<P>> all) : copy_(copy<P>), all_(all.begin(), all.end()) {}
  std::shared_ptr<const Parameters> read(const Reader& object) const;
  std::shared_ptr<const Parameters> defaults() const { return copy_(nullptr); }
  std::shared_ptr<const Parameters> without(const Parameters&, Decides) const;  // with these at their defaults
  void write(const Parameters&, nlohmann::json& object) const;                  // those that are given
  nlohmann::json value(const Parameters&, std::string_view key) const;    // given or by default; null if there is none
  std::optional<Mistake> beyond(const Parameters&, const Target&) const;  // a value above what the target allows
  std::optional<Mistake> beside_checkpoint(const Parameters&) const;      // a value that a checkpoint decides
  bool gives(const Parameters&, Decides) const;                           // whether any of these is given
  schema::Keys keys() const;                                              // for a JSON Schema
  std::string text() const;  // "max_ngram (3): the longest run of tokens that is searched for; .."

 private:
  template <class P>
  static std::shared_ptr<Parameters> copy(const Parameters* from) {
    return from ? std::make_shared<P>(static_cast<const P&>(*from)) : std::make_shared<P>();
  }
  std::shared_ptr<Parameters> (*copy_)(const Parameters*);  // of a value, or of none the defaults
  std::vector<Parameter> all_;
};

// ---- fields

nlohmann::json json_of(double);  // as a whole number if it is one

// Whether a member is given, and its value if it has one.
template <class T>
const T* value_of(const Setting<T>& m, bool given) {
  return !given || m.given ? &m.value : nullptr;
}
template <class T>
const T* value_of(const std::optional<T>& m, bool) {
  return m ? &*m : nullptr;
}

// `read` makes the member's value of a reader, of JSON that `values` describes; `write` makes JSON of it.
template <class P, class Member, class Read, class Write>
Field<P> field(std::string_view key, Member P::*member, Traits traits, schema::Json values, Read read, Write write) {
  return {{key, std::move(traits), [=](Parameters& p, const Reader& in) { static_cast<P&>(p).*member = read(in); },
           [=](const Parameters& p, bool given) {
             const auto* v = value_of(static_cast<const P&>(p).*member, given);
             return v ? nlohmann::json(write(*v)) : nlohmann::json();
           },
           [=](Parameters& p) { static_cast<P&>(p).*member = P().*member; }, std::move(values)}};
}
inline constexpr auto as_it_is = [](const auto& v) { return v; };

template <class P, class Member>
Field<P> integer(std::string_view key, Member P::*member, int least, int most, Traits traits = {}) {
  return field(
      key, member, std::move(traits), schema::integer(least, most),
      [=](const Reader& in) { return in.integer(least, most); }, as_it_is);
}
template <class P, class Member>
Field<P> number(std::string_view key, Member P::*member, double least, double most, Traits traits = {}) {
  return field(
      key, member, std::move(traits), schema::number(least, most),
      [=](const Reader& in) { return in.number(least, most); }, json_of);
}
template <class P, class Member>
Field<P> share(std::string_view key, Member P::*member, Traits traits = {}) {
  return number(key, member, 0, 1, std::move(traits));
}
template <class P, class Member>
Field<P> flag(std::string_view key, Member P::*member, Traits traits = {}) {
  return field(
      key, member, std::move(traits), schema::boolean(), [](const Reader& in) { return in.boolean(); }, as_it_is);
}
// One of the names, which must outlive the field.
template <class P, class Member, class T, std::size_t N>
Field<P> choice(std::string_view key, Member P::*member, const NamedValues<T, N>& names, Traits traits = {}) {
  return field(
      key, member, std::move(traits), schema::value_in(names),
      [&names](const Reader& in) { return in.value_in(names); },
      [&names](T v) { return std::string(name_of(names, v)); });
}
template <class P>
Field<P> integers(std::string_view key, std::optional<std::vector<int>> P::*member, int least, int most,
                  Traits traits = {}) {
  const auto read = [=](const Reader& in) {
    std::vector<int> all;
    for (const Reader& item : in.items()) all.push_back(item.integer(least, most));
    return all;
  };
  return field(key, member, std::move(traits), schema::list(schema::integer(least, most), 0), read, as_it_is);
}

}  // namespace draftline::methods
