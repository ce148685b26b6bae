#include "report/site/live_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace vramfit::report::site {

using model::LiveCard;
using model::LivePoint;
using Json = nlohmann::ordered_json;

namespace {

Json or_null(const std::optional<base::Bytes>& bytes) { return bytes ? Json(bytes->count()) : Json(); }

Json card_json(const LiveCard& card) {
  Json points = Json::array();
  for (const LivePoint& point : card.points) {
    points.push_back({point.at_ms, point.used.count(), or_null(point.allocated), or_null(point.reserved)});
  }
  return {{"session", card.session},
          {"index", card.index},
          {"name", card.name},
          {"alive", card.is_alive},
          {"total_bytes", card.total.count()},
          {"used_bytes", card.used.count()},
          {"peak_bytes", card.peak.count()},
          {"points", std::move(points)}};
}

// Names come from other programs: what is no UTF-8 is replaced.
std::string text_of(const Json& json) { return base::json_line(json) + "\n"; }

}  // namespace

std::string live_run_json(std::int64_t number, model::RunState state, const std::vector<LiveCard>& cards) {
  Json list = Json::array();
  for (const LiveCard& card : cards) list.push_back(card_json(card));
  return text_of({{"number", number}, {"state", std::string(to_string(state))}, {"cards", std::move(list)}});
}

std::string going_runs_json(const std::string& stamp, const std::vector<GoingRun>& runs) {
  Json list = Json::array();
  for (const GoingRun& run : runs) {
    Json one = {{"number", run.number}, {"used_bytes", nullptr}, {"peak_bytes", nullptr}, {"total_bytes", nullptr}};
    // What runs now tells the most; of nothing that runs, what ran last.
    const auto fullest = std::ranges::max_element(run.cards, {}, [](const LiveCard& card) {
      return std::pair(card.is_alive, card.is_alive ? card.used.count() : 0);
    });
    if (fullest != run.cards.end()) {
      one["used_bytes"] = fullest->used.count();
      one["peak_bytes"] = fullest->peak.count();
      one["total_bytes"] = fullest->total.count();
    }
    list.push_back(std::move(one));
  }
  return text_of({{"stamp", stamp}, {"running", std::move(list)}});
}

}  // namespace vramfit::report::site
