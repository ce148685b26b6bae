// JSON as text, whatever bytes its strings hold: names come from other programs, and what is no UTF-8 is replaced.
#ifndef VRAMFIT_BASE_JSON_TEXT_H
#define VRAMFIT_BASE_JSON_TEXT_H

#include <nlohmann/json.hpp>
#include <string>

namespace vramfit::base {

// Within one line, without an end of line. `Json` is nlohmann::json or nlohmann::ordered_json.
template <class Json>
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// As a file has it: indented by one, with an end of line.
template <class Json>
std::string json_file(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace vramfit::base

#endif
