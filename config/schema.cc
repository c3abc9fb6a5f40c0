// The JSON Schema of the configuration file, from the same table as the loader.
#include <nlohmann/json.hpp>

#include "config/keys.h"
#include "config/yaml.h"

namespace openiser::config {

namespace {

using Json = nlohmann::ordered_json;

Json schema_of(const Object& object);

Json number_or(const char* pattern, const Key& key) {
  Json number{{"type", "integer"}, {"minimum", key.min}};
  if (key.max != UINT64_MAX) number["maximum"] = key.max;
  return Json{{"anyOf", {number, Json{{"type", "string"}, {"pattern", pattern}}}}};
}

Json value_schema(const Key& key) {
  switch (key.kind) {
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::count: {
      Json number{{"type", "integer"}, {"minimum", key.min}};
      if (key.max != UINT64_MAX) number["maximum"] = key.max;
      return number;
    }
    case Kind::size:
      return number_or("^(0x[0-9a-fA-F]+|[0-9]+) *(B|k|[KMGT]|[KMGT]iB)?$", key);
    case Kind::duration:
      return number_or("^[0-9]+ *(s|m|min|h)?$", key);
    case Kind::choice: {
      Json choices = Json::array();
      for (const auto name : key.choices) choices.push_back(name);
      return {{"enum", choices}};
    }
    case Kind::iscsi_name:
      return {{"type", "string"},
              {"maxLength", 223},
              {"pattern",
               "^(iqn\\.[0-9]{4}-(0[1-9]|1[0-2])\\..+|eui\\.[0-9a-fA-F]{16}|"
               "naa\\.[0-9a-fA-F]{16}([0-9a-fA-F]{16})?)$"}};
    case Kind::initiator_name:
      return {{"type", "string"}, {"maxLength", 223}, {"pattern", "^[^A-Z\\s]+$"}};
    case Kind::network:
      return {{"type", "string"}, {"pattern", "^[0-9a-fA-F:.]+(/[0-9]{1,3})?$"}};
    case Kind::processors:
      return {{"type", Json::array({"string", "integer"})},
              {"pattern", "^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$"}};
    case Kind::object:
      return schema_of(*key.object);
    case Kind::list:
      return {{"type", "array"}, {"minItems", key.min}, {"items", schema_of(*key.object)}};
    default: {
      Json text{{"type", "string"}};
      if (key.min > 0) text["minLength"] = key.min;
      if (key.max != UINT64_MAX) text["maxLength"] = key.max;
      return text;
    }
  }
}

Json default_of(const Key& key, const void* fresh) {
  const Value value = key.get(fresh);
  switch (key.kind) {
    case Kind::boolean:
      return value.number != 0;
    case Kind::choice:
      return key.choices[value.number];
    case Kind::text:
    case Kind::iscsi_name:
      return value.text;
    default:
      return value.number;
  }
}

Json schema_of(const Object& object) {
  Json properties = Json::object(), required = Json::array();
  for (const Key& key : object.keys) {
    Json schema = value_schema(key);
    schema["description"] = key.what;
    if (key.get && !key.required) schema["default"] = default_of(key, object.fresh());
    properties[std::string(key.name)] = std::move(schema);
    if (key.required) required.push_back(key.name);
  }
  Json schema{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
  if (!required.empty()) schema["required"] = required;
  if (!object.shorthand) return schema;
  Json plain = value_schema(*object.shorthand);
  plain["description"] = object.shorthand->what;
  return Json{{"anyOf", {plain, schema}}};
}

}  // namespace

std::string print_schema() {
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", root_object().what}};
  schema.update(schema_of(root_object()));
  return schema.dump(2) + "\n";
}

}  // namespace openiser::config
