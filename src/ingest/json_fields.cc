#include "ingest/json_fields.h"

#include <nlohmann/json.hpp>

namespace vramfit::ingest {

using nlohmann::json;

std::string text_of(const json& fields, const char* name) {
  const auto field = fields.find(name);
  return field != fields.end() && field->is_string() ? field->get<std::string>() : std::string();
}

std::int64_t integer_of(const json& fields, const char* name, std::int64_t otherwise) {
  const auto field = fields.find(name);
  return field != fields.end() && field->is_number() ? field->get<std::int64_t>() : otherwise;
}

const json& list_of(const json& fields, const char* name) {
  static const json kEmpty = json::array();
  const auto field = fields.find(name);
  return field != fields.end() && field->is_array() ? *field : kEmpty;
}

}  // namespace vramfit::ingest
