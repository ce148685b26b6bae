#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "isolate/layer.h"

namespace vramfit::isolate {

using nlohmann::json;

std::string to_text(const LayerSpec& spec) {
  const json text = {{"staging", spec.staging},
                     {"report", spec.report},
                     {"shared", spec.shared},
                     {"near", spec.near},
                     {"network", spec.network},
                     {"limit_bytes", spec.limit_bytes},
                     {"supervised", spec.is_supervised},
                     {"has_files", spec.has_files},
                     {"in_user_namespace", spec.in_user_namespace},
                     {"shared_memory", spec.shared_memory}};
  return base::json_line(text);
}

base::Result<LayerSpec> parse_layer_spec(const std::string& text) {
  const json from = json::parse(text, nullptr, false);
  try {
    return LayerSpec{from.at("staging"),      from.at("report"),    from.at("shared"),
                     from.at("near"),         from.at("network"),   from.at("supervised"),
                     from.at("limit_bytes"),  from.at("has_files"), from.at("in_user_namespace"),
                     from.at("shared_memory")};
  } catch (const json::exception& problem) {
    return base::fail(base::ErrorCode::kCorrupt, std::string("not the description of a layer: ") + problem.what());
  }
}

}  // namespace vramfit::isolate
