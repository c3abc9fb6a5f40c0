// Makes the rows of the key table (keys.cc) out of members of settings.h.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "config/keys.h"

namespace openiser::config {

namespace keys_detail {

template <auto Member>
struct Access;

template <class T, class V, V T::*Member>
struct Access<Member> {
  static constexpr bool kIsText = std::is_same_v<V, std::string>;

  static void set(void* object, const Value& value) {
    V& member = static_cast<T*>(object)->*Member;
    if constexpr (kIsText)
      member = value.text;
    else
      member = static_cast<V>(value.number);
  }
  static Value get(const void* object) {
    const V& member = static_cast<const T*>(object)->*Member;
    if constexpr (kIsText)
      return {0, member};
    else
      return {static_cast<std::uint64_t>(member), {}};
  }
  static void* place(void* parent) { return &(static_cast<T*>(parent)->*Member); }
  static void* append(void* parent) { return &(static_cast<T*>(parent)->*Member).emplace_back(); }
  static constexpr std::uint64_t max() {
    if constexpr (std::is_integral_v<V>)
      return std::numeric_limits<V>::max();
    else
      return UINT64_MAX;
  }
};

}  // namespace keys_detail

// `Member`: where in its object the key's value goes (&Portal::port).
template <auto Member>
constexpr Key value(std::string_view name, Kind kind, std::string_view what, std::uint64_t min = 0,
                    std::uint64_t max = keys_detail::Access<Member>::max()) {
  return {name,
          kind,
          what,
          min,
          max,
          {},
          keys_detail::Access<Member>::set,
          keys_detail::Access<Member>::get};
}
template <auto Member>
constexpr Key choice(std::string_view name, std::span<const std::string_view> choices,
                     std::string_view what) {
  Key key = value<Member>(name, Kind::choice, what, 0, UINT64_MAX);
  key.choices = choices;
  return key;
}
template <auto Member>
constexpr Key object(std::string_view name, const Object& object) {
  return {name,    Kind::object, object.what,
          0,       UINT64_MAX,   {},
          nullptr, nullptr,      keys_detail::Access<Member>::place,
          &object, false};
}
template <auto Member>
constexpr Key list(std::string_view name, const Object& object, std::string_view what) {
  return {name,    Kind::list, what,
          1,       UINT64_MAX, {},
          nullptr, nullptr,    keys_detail::Access<Member>::append,
          &object, true};
}
constexpr Key required(Key key) {
  key.required = true;
  return key;
}
constexpr Key optional(Key key) {
  key.required = false;
  return key;
}

// For Object::fresh and Object::locate.
template <class T>
const void* fresh() {
  static const T object{};
  return &object;
}
template <class T>
void locate(void* object, Position at) {
  static_cast<T*>(object)->at = at;
}

}  // namespace openiser::config
