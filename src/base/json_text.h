// JSON as text, whatever bytes its strings hold: names come from other programs, and what is no UTF-8 is replaced.
#ifndef VRAMFIT_BASE_JSON_TEXT_H
#define VRAMFIT_BASE_JSON_TEXT_H

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vramfit::base {

// Within one line, without an end of line.
std::string json_line(const nlohmann::json& json);
std::string json_line(const nlohmann::ordered_json& json);

// The text of a JSON file: indented by one, with an end of line.
std::string json_file(const nlohmann::json& json);
std::string json_file(const nlohmann::ordered_json& json);

}  // namespace vramfit::base

#endif
