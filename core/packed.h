// SPDX-License-Identifier: Apache-2.0
// Serialises values to bytes, for another process of the same program on the same kind of machine:
// unpack<T>(pack(value)) equals the value, bit for bit. Strings, lists, maps, optionals, variants and JSON are copied
// by their content, plain structs by their members (core/members.h), other trivially copyable types, except pointers,
// by their bytes in memory. Any other class lists the members that are packed: static auto members(auto& self).
#pragma once
#include <concepts>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/members.h"

namespace draftline {

namespace packed {

template <class T>
concept NamesMembers = requires(T& t) {
  T::members(t);
};
template <class T>
concept Pair = requires(T& t) {
  t.first, t.second;
};
template <class T>
concept List = requires(T& t) {
  typename T::value_type;
  t.begin(), t.end(), t.size();
};
template <class T>
concept Map = List<T> && requires {
  typename T::mapped_type;
};
template <class T>
concept Growing = List<T> && requires(T& t) {
  t.resize(1);
};
template <class T>
concept Text = requires(const T& t) {
  { T::parse(t.dump()) } -> std::same_as<T>;
};
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;
template <class T>
concept Holder = requires(T& t, typename T::element_type* p) {
  t.reset(p);
};  // for std::unique_ptr

template <class T>
void put(std::string& to, const T& value);

template <class... Alternatives>
void put_chosen(std::string& to, const std::variant<Alternatives...>& value) {
  put(to, value.index());
  std::visit([&](const auto& chosen) { put(to, chosen); }, value);
}

template <class T>
concept Variant = requires(const T& value, std::string& to) {
  put_chosen(to, value);
};
template <class T>
concept Optional = requires(T& t) {
  t.has_value(), *t, t.emplace();
};

template <class T>
void put(std::string& to, const T& value) {
  if constexpr (NamesMembers<const T>) {
    std::apply([&](const auto&... member) { (put(to, member), ...); }, T::members(value));
  } else if constexpr (std::same_as<T, std::string>) {
    put(to, value.size());
    to.append(value);
  } else if constexpr (Text<T>) {
    put(to, value.dump());
  } else if constexpr (Variant<T>) {
    put_chosen(to, value);
  } else if constexpr (Pair<T>) {
    put(to, value.first);
    put(to, value.second);
  } else if constexpr (Optional<T> || Holder<T>) {
    put(to, static_cast<bool>(value));
    if (value) put(to, *value);
  } else if constexpr (List<T>) {
    put(to, value.size());
    for (const auto& item : value) put(to, item);
  } else if constexpr (PlainStruct<T>) {
    std::apply([&](const auto&... member) { (put(to, member), ...); }, members_of(value));
  } else {
    static_assert(Plain<T>, "list its members");
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

class Source {
 public:
  explicit Source(std::string_view bytes) : left_(bytes) {}
  bool empty() const { return left_.empty(); }

  template <class T>
  void take(T& value) {
    if constexpr (NamesMembers<T>) {
      std::apply([&](auto&... member) { (take(member), ...); }, T::members(value));
    } else if constexpr (std::same_as<T, std::string>) {
      value = next(taken<std::size_t>());
    } else if constexpr (Text<T>) {
      value = T::parse(taken<std::string>());
    } else if constexpr (Variant<T>) {
      take_chosen(value, taken<std::size_t>());
    } else if constexpr (Pair<T>) {
      take(value.first);
      take(value.second);
    } else if constexpr (Optional<T>) {
      value.reset();
      if (taken<bool>()) take(value.emplace());
    } else if constexpr (Holder<T>) {
      value.reset();
      if (!taken<bool>()) return;
      value = std::make_unique<typename T::element_type>();
      take(*value);
    } else if constexpr (Map<T>) {
      value.clear();
      for (auto n = taken<std::size_t>(); n > 0; --n) {
        auto key = taken<typename T::key_type>();
        take(value[std::move(key)]);
      }
    } else if constexpr (List<T>) {
      const auto n = taken<std::size_t>();
      if constexpr (Growing<T>) value.resize(n);
      for (auto& item : value) take(item);
    } else if constexpr (PlainStruct<T>) {
      std::apply([&](auto&... member) { (take(member), ...); }, members_of(value));
    } else {
      static_assert(Plain<T>, "list its members");
      std::memcpy(static_cast<void*>(&value), next(sizeof value).data(), sizeof value);
    }
  }
  template <class T>
  T taken() {
    T value{};
    take(value);
    return value;
  }

 private:
  std::string_view next(std::size_t bytes) {
    check(bytes <= left_.size(), "a truncated message of another process");
    const std::string_view taken = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return taken;
  }
  template <class V, std::size_t I = 0>
  void take_chosen(V& value, std::size_t index) {
    if constexpr (I < std::variant_size_v<V>) {
      if (index == I) take(value.template emplace<I>());
      else take_chosen<V, I + 1>(value, index);
    }
  }
  std::string_view left_;
};

}  // namespace packed

template <class T>
std::string pack(const T& value) {  // the bytes of a value
  std::string bytes;
  packed::put(bytes, value);
  return bytes;
}

// The value of bytes that pack() made. Throws Bug if there are too few or too many bytes for one T.
template <class T>
T unpack(std::string_view bytes) {
  packed::Source source(bytes);
  T value = source.taken<T>();
  check(source.empty(), "a message of another process is too long");
  return value;
}

}  // namespace draftline
