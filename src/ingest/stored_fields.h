// Fields of stored results, read alike by all of their readers.
#ifndef VRAMFIT_INGEST_STORED_FIELDS_H
#define VRAMFIT_INGEST_STORED_FIELDS_H

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

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

// A number without a fraction, also of one that was written with a point. What is no such number, or too large for T,
// is an error of the file: nlohmann's own get() casts, which is undefined for what T can't hold.
template <std::integral T>
T whole(const nlohmann::json& value) {
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    // The bounds of 64 bits are powers of two, which doubles hold.
    const bool fits = number >= static_cast<double>(std::numeric_limits<T>::min()) &&
                      number < std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (!fits) throw nlohmann::json::other_error::create(600, "a number that is too large", &value);
    return static_cast<T>(number);
  }
  const bool is_in_range = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                                      : std::in_range<T>(value.get<std::int64_t>());
  if (!is_in_range) throw nlohmann::json::other_error::create(600, "a number that is too large", &value);
  return static_cast<T>(value.get<std::int64_t>());
}

// None for null and for a field that the file's version did not have yet: nothing was measured.
inline std::optional<std::int64_t> whole_if_known(const nlohmann::json& row, const char* key) {
  if (!row.is_object()) throw nlohmann::json::other_error::create(600, "a row that is no object", &row);
  const auto found = row.find(key);
  if (found == row.end() || found->is_null()) return std::nullopt;
  return whole<std::int64_t>(*found);
}

// `otherwise` for a field that the file's version did not have yet.
template <std::integral T>
T whole_or(const nlohmann::json& row, const char* key, T otherwise) {
  if (!row.is_object()) throw nlohmann::json::other_error::create(600, "a row that is no object", &row);
  const auto found = row.find(key);
  return found == row.end() ? otherwise : whole<T>(*found);
}

}  // namespace vramfit::ingest

#endif
