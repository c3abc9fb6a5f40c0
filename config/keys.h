// The keys of the configuration file, as one table: what kind of value each takes, its limits,
// where it goes in settings.h, and what it means in words. The loader (yaml.cc) walks it, and
// the schema (schema.cc) is printed from it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "config/values.h"
#include "config/yaml.h"

namespace openiser::config {

enum class Kind : std::uint8_t {
  boolean,
  count,
  size,
  duration,
  text,
  path,  // a text; relative ones start at the folder of the file
  iscsi_name,
  initiator_name,  // an iSCSI name or a pattern of such
  network,
  processors,
  choice,
  portal,
  object,
  list,  // of objects
};

struct Object;

// Objects of settings.h travel as void*: the table knows which is which.
struct Key {
  std::string_view name;
  Kind kind = Kind::text;
  std::string_view what;  // in words, for the schema
  // Numbers; of a text, its length.
  std::uint64_t min = 0;
  std::uint64_t max = UINT64_MAX;
  std::span<const std::string_view> choices{};
  void (*set)(void* object, const Value& value) = nullptr;
  // The value in a fresh object, as the default; null where there is none worth telling.
  Value (*get)(const void* object) = nullptr;
  // object: the member. list: a new element.
  void* (*place)(void* parent) = nullptr;
  const Object* object = nullptr;
  bool required = false;
};

// Which keys an object was given, and where.
using Given = std::map<std::string_view, Position>;

struct Object {
  std::string_view what;
  std::span<const Key> keys;
  // A fresh one, for the defaults.
  const void* (*fresh)() = nullptr;
  void (*locate)(void* object, Position at) = nullptr;
  // A plain value in place of the object stands for this key.
  const Key* shorthand = nullptr;
  // Rules between keys.
  void (*check)(void* object, const Given& given, std::vector<Fault>& faults) = nullptr;
};

// The whole file.
const Object& root_object();
// Rules between objects: what must not be there twice, or contradict each other.
void check_duplicates(const Daemon& daemon, std::vector<Fault>& faults);

}  // namespace openiser::config
