// What several results write alike. Only files that write JSON include it.
#ifndef VRAMFIT_REPORT_JSON_PARTS_H
#define VRAMFIT_REPORT_JSON_PARTS_H

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "model/card_figures.h"
#include "model/run_result.h"

namespace vramfit::report {

inline nlohmann::ordered_json or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

template <class Elements, class Convert>
nlohmann::ordered_json list_json(const Elements& elements, Convert convert) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& element : elements) list.push_back(convert(element));
  return list;
}

inline nlohmann::ordered_json or_null(const std::optional<model::Bytes>& bytes) {
  return bytes ? nlohmann::ordered_json(bytes->count()) : nlohmann::ordered_json(nullptr);
}

inline nlohmann::ordered_json peaks_json(const model::CardFigures& card) {
  return {{"peak_allocated_bytes", or_null(card.allocated)},
          {"peak_reserved_bytes", or_null(card.reserved)},
          {"peak_device_bytes", or_null(card.device)}};
}

inline nlohmann::ordered_json peaks_json(const model::Peaks& peaks) {
  return {{"peak_allocated_bytes", peaks.allocated.count()},
          {"peak_reserved_bytes", peaks.reserved.count()},
          {"peak_device_bytes", peaks.device.count()}};
}

}  // namespace vramfit::report

#endif
