#include "base/json_text.h"

#include <nlohmann/json.hpp>

namespace vramfit::base {

namespace {

template <class Json>
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string json_line(const nlohmann::json& json) { return dump(json, -1); }
std::string json_line(const nlohmann::ordered_json& json) { return dump(json, -1); }
std::string json_file(const nlohmann::json& json) { return dump(json, 1) + "\n"; }
std::string json_file(const nlohmann::ordered_json& json) { return dump(json, 1) + "\n"; }

}  // namespace vramfit::base
