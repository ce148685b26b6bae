// Fields of stored results, read alike by all of their readers.
#ifndef VRAMFIT_INGEST_STORED_FIELDS_H
#define VRAMFIT_INGEST_STORED_FIELDS_H

#include <nlohmann/json.hpp>
#include <string>

namespace vramfit::ingest {

// Empty for null; a field that is not there is an error of the file (nlohmann::json::exception).
inline std::string required_text(const nlohmann::json& row, const char* key) {
  const nlohmann::json& value = row.at(key);
  return value.is_null() ? std::string() : value.get<std::string>();
}

// Empty for null and for a field that the file's version did not have yet.
inline std::string text(const nlohmann::json& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() || found->is_null() ? std::string() : found->get<std::string>();
}

}  // namespace vramfit::ingest

#endif
