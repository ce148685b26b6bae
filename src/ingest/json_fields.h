// The fields of a JSON object of a file: never trusted to be there, or to have the right type.
#ifndef VRAMFIT_INGEST_JSON_FIELDS_H
#define VRAMFIT_INGEST_JSON_FIELDS_H

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vramfit::ingest {

std::string text_of(const nlohmann::json& fields, const char* name);  // empty when it is no string
std::int64_t integer_of(const nlohmann::json& fields, const char* name, std::int64_t otherwise = 0);
const nlohmann::json& list_of(const nlohmann::json& fields, const char* name);  // an empty one when it is no list

}  // namespace vramfit::ingest

#endif
