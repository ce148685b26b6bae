#include "report/watch_json.h"

#include <nlohmann/json.hpp>
#include <span>

#include "base/json_text.h"
#include "report/schemas.h"
#include "report/watch_time.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

template <class Owner>
void add_readings(ordered_json& object, const Owner& owner, std::span<const model::Field<Owner>> fields) {
  ordered_json missing = ordered_json::object();
  for (const auto& field : fields) {
    const model::Reading& reading = owner.*field.member;
    object[std::string(field.name)] = reading ? ordered_json(*reading) : ordered_json(nullptr);
    if (!reading) missing[std::string(field.name)] = model::to_string(reading.why());
  }
  if (!missing.empty()) object["missing"] = std::move(missing);
}

void add_text(ordered_json& object, std::string_view name, const std::string& text) {
  object[std::string(name)] = text.empty() ? ordered_json(nullptr) : ordered_json(text);
}

ordered_json card_to_json(const model::CardReading& card) {
  ordered_json object;
  object["uuid"] = card.uuid;
  object["name"] = card.name;
  add_text(object, "bus_id", card.bus_id);
  add_text(object, "parent", card.parent);
  add_text(object, "session", card.session);
  add_text(object, "problem", card.problem);
  add_readings(object, card, model::card_fields());
  if (card.throttle_reasons) object["throttled_by"] = model::throttle_words(*card.throttle_reasons);
  return object;
}

ordered_json process_to_json(const model::ProcessReading& process) {
  ordered_json object;
  object["pid"] = process.pid;
  object["state"] = model::to_string(process.state);
  for (const auto& [name, text] : {std::pair{"name", &process.name},
                                   {"command", &process.command},
                                   {"user", &process.user},
                                   {"container", &process.container},
                                   {"slurm_job", &process.slurm_job},
                                   {"kubernetes_pod", &process.kubernetes_pod},
                                   {"rank", &process.rank},
                                   {"world_size", &process.world_size}}) {
    add_text(object, name, *text);
  }
  object["parent"] = process.parent;
  add_text(object, "parent_name", process.parent_name);
  add_readings(object, process, model::process_fields());
  object["cards"] = ordered_json::array();
  for (const auto& use : process.uses) {
    ordered_json one;
    one["card"] = use.card;
    add_readings(one, use, model::use_fields());
    object["cards"].push_back(std::move(one));
  }
  return object;
}

ordered_json machine_json(const model::MachineSample& sample, std::string_view version) {
  ordered_json result;
  result["schema"] = kWatchSchema;
  result["vramfit"] = version;
  result["verb"] = "watch";
  result["at"] = to_rfc3339(sample.at_unix_ns);
  result["at_unix_ns"] = sample.at_unix_ns;
  ordered_json driver;
  driver["answers"] = sample.driver.answers;
  add_text(driver, "problem", sample.driver.problem);
  add_text(driver, "version", sample.driver.version);
  add_text(driver, "cuda", sample.driver.cuda);
  result["driver"] = std::move(driver);
  result["cards"] = ordered_json::array();
  for (const auto& card : sample.cards) result["cards"].push_back(card_to_json(card));
  result["processes"] = ordered_json::array();
  for (const auto& process : sample.processes) result["processes"].push_back(process_to_json(process));
  ordered_json host;
  host["name"] = sample.host.name;
  add_readings(host, sample.host, model::host_fields());
  result["host"] = std::move(host);
  return result;
}

}  // namespace

std::string machine_to_json_line(const model::MachineSample& sample, std::string_view version) {
  // A command line may hold bytes that are no UTF-8.
  return base::json_line(machine_json(sample, version)) + "\n";
}

}  // namespace vramfit::report
