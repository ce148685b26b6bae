#include "report/testing/schema_check.h"

#include <set>

namespace vramfit::report::testing {

using nlohmann::json;

namespace {

const std::set<std::string> kWords = {"$schema",  "$id",  "$defs", "$ref",  "title",      "description",         "type",
                                      "required", "enum", "items", "oneOf", "properties", "additionalProperties"};

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void check(const json& value, const json& schema, const std::string& path) {
    for (const auto& [word, ignored] : schema.items()) {
      if (!kWords.contains(word)) complain(path, "the schema uses the unknown word " + word);
    }
    if (schema.contains("$ref")) {
      const std::string target = schema["$ref"];
      check(value, root_.at(json::json_pointer(target.substr(1))), path);
    }
    if (schema.contains("type") && !has_type(value, schema["type"])) complain(path, "is no " + schema["type"].dump());
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end()) {
      complain(path, value.dump() + " is none of " + schema["enum"].dump());
    }
    if (schema.contains("oneOf")) check_one_of(value, schema["oneOf"], path);
    if (value.is_object()) check_object(value, schema, path);
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) check(value[i], schema["items"], path + "/" + std::to_string(i));
    }
  }

  std::vector<std::string> take() { return std::move(violations_); }

 private:
  static bool has_one_type(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "boolean") return value.is_boolean();
    return type == "null" && value.is_null();
  }
  static bool has_type(const json& value, const json& types) {
    if (types.is_string()) return has_one_type(value, types);
    return std::any_of(types.begin(), types.end(), [&](const json& type) { return has_one_type(value, type); });
  }
  void check_one_of(const json& value, const json& options, const std::string& path) {
    int right = 0;
    for (const json& option : options) {
      Checker inner(root_);
      inner.check(value, option, path);
      right += inner.take().empty() ? 1 : 0;
    }
    if (right != 1) complain(path, "matches " + std::to_string(right) + " of the alternatives");
  }
  void check_object(const json& value, const json& schema, const std::string& path) {
    const json none = json::object();
    const json& properties = schema.contains("properties") ? schema["properties"] : none;
    if (schema.contains("required")) {
      for (const json& name : schema["required"]) {
        if (!value.contains(name.get<std::string>())) complain(path, "lacks " + name.get<std::string>());
      }
    }
    // What is published allows new fields. What this program writes is all described: an object whose properties are
    // listed has no others, unless it says of what kind they are.
    const bool closed = !properties.empty() && !schema.contains("additionalProperties");
    for (const auto& [name, field] : value.items()) {
      if (properties.contains(name)) {
        check(field, properties[name], std::string(path).append("/").append(name));
      } else if (closed) {
        complain(path, "has the undocumented field " + name);
      }
    }
  }
  void complain(const std::string& path, const std::string& what) { violations_.push_back(path + ": " + what); }

  const json& root_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> find_violations(const json& value, const json& schema) {
  Checker checker(schema);
  checker.check(value, schema, "");
  return checker.take();
}

}  // namespace vramfit::report::testing
