#include "job/learned.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/file.h"
#include "base/json_text.h"
#include "ingest/json_fields.h"
#include "store/place.h"

namespace vramfit::job {

namespace fs = std::filesystem;
using ingest::integer_of;
using ingest::list_of;
using ingest::text_of;
using nlohmann::json;

namespace {

constexpr int kVersion = 1;

// Null where it is another program's, or damaged.
json parse_cards(std::string_view text) {
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_object() || whole.value("version", json(0)) != kVersion || !whole["cards"].is_object()) return {};
  return whole["cards"];
}

base::Bytes bytes_of(const json& fields, const char* name) { return base::Bytes(integer_of(fields, name, -1)); }

std::vector<model::LayerWorkspace> workspaces_of(const json& card) {
  std::vector<model::LayerWorkspace> all;
  for (const json& one : list_of(card, "workspaces")) {
    if (!one.is_object()) continue;
    model::LayerWorkspace workspace{text_of(one, "layer"), bytes_of(one, "taken"), bytes_of(one, "largest")};
    const bool is_sound = workspace.taken >= base::Bytes(0) && workspace.largest >= workspace.taken;
    if (is_sound && !workspace.layer.empty()) all.push_back(std::move(workspace));
  }
  return all;
}

Learned learned_of(const json& card) {
  Learned learned;
  learned.address_order = parse_address_order(text_of(card, "address_order"));
  learned.workspaces = workspaces_of(card);
  if (const auto overhead = card.find("held"); overhead != card.end() && overhead->is_object()) {
    const base::Bytes bytes = bytes_of(*overhead, "bytes");
    if (bytes >= base::Bytes(0)) learned.measured_overhead = MeasuredOverhead{bytes, text_of(*overhead, "source")};
  }
  learned.recording = text_of(card, "recording");
  learned.date = text_of(card, "date");
  return learned;
}

// `later` over `earlier`.
Learned merge(Learned earlier, Learned later) {
  if (!later.address_order) later.address_order = earlier.address_order;
  if (!later.measured_overhead) later.measured_overhead = std::move(earlier.measured_overhead);
  std::map<std::string, model::LayerWorkspace> by_layer;
  for (auto* list : {&earlier.workspaces, &later.workspaces}) {
    for (auto& one : *list) by_layer.insert_or_assign(one.layer, one);
  }
  later.workspaces.clear();
  for (auto& [layer, one] : by_layer) later.workspaces.push_back(std::move(one));
  return later;
}

json to_json(const Learned& learned) {
  json card = {{"recording", learned.recording}, {"date", learned.date}};
  if (learned.address_order) card["address_order"] = to_string(*learned.address_order);
  if (learned.measured_overhead)
    card["held"] = {{"bytes", learned.measured_overhead->bytes.count()}, {"source", learned.measured_overhead->source}};
  for (const model::LayerWorkspace& one : learned.workspaces) {
    card["workspaces"].push_back(
        {{"layer", one.layer}, {"taken", one.taken.count()}, {"largest", one.largest.count()}});
  }
  return card;
}

}  // namespace

std::string to_string(model::AddressOrder order) { return order == model::AddressOrder::kWsl ? "wsl" : "linux"; }

std::optional<model::AddressOrder> parse_address_order(const std::string& text) {
  if (text == "linux") return model::AddressOrder::kLinux;
  if (text == "wsl") return model::AddressOrder::kWsl;
  return std::nullopt;
}

std::optional<fs::path> find_learned_file(const base::Environment& environment) {
  const auto store = store::find_store(environment);
  return store ? std::optional(store->parent_path() / "learned.json") : std::nullopt;
}

std::optional<Learned> parse_learned(std::string_view text, const std::string& card) {
  const json cards = parse_cards(text);
  if (!cards.is_object() || !cards.contains(card) || !cards[card].is_object()) return std::nullopt;
  Learned learned = learned_of(cards[card]);
  return learned.is_empty() ? std::nullopt : std::optional(std::move(learned));
}

std::optional<Learned> find_learned(const fs::path& file, const std::string& card) {
  const auto text = base::read_file(file.string());
  return text ? parse_learned(*text, card) : std::nullopt;
}

base::Result<void> keep_learned(const fs::path& file, const std::string& card, const Learned& learned) {
  const std::string before = base::read_file(file.string()).value_or("");
  json cards = parse_cards(before);
  if (!cards.is_object()) cards = json::object();
  cards[card] = to_json(merge(parse_learned(before, card).value_or(Learned()), learned));
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  const json whole = {{"version", kVersion}, {"cards", std::move(cards)}};
  return base::write_file(file.string(), base::json_file(whole));
}

std::string to_lines(const std::vector<model::LayerWorkspace>& workspaces) {
  std::string text;
  for (const model::LayerWorkspace& one : workspaces) {
    text += fmt::format("{}\t{}\t{}\n", one.taken.count(), one.largest.count(), one.layer);
  }
  return text;
}

}  // namespace vramfit::job
