#include "app/learned.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "app/run_book.h"
#include "base/file.h"

namespace vramfit::app {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kVersion = 1;

// Null where there is no such file, or another program's.
json read_cards(const fs::path& file) {
  const auto text = base::read_file(file.string());
  json whole = text ? json::parse(*text, nullptr, false) : json();
  if (!whole.is_object() || whole.value("version", json(0)) != kVersion || !whole["cards"].is_object()) return {};
  return whole["cards"];
}

std::string text_of(const json& fields, const char* name) {
  const auto found = fields.find(name);
  return found != fields.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::string to_string(model::AddressOrder order) { return order == model::AddressOrder::kWsl ? "wsl" : "linux"; }

std::optional<model::AddressOrder> parse_address_order(const std::string& text) {
  if (text == "linux") return model::AddressOrder::kLinux;
  if (text == "wsl") return model::AddressOrder::kWsl;
  return std::nullopt;
}

std::optional<fs::path> find_learned_file(const base::Environment& environment) {
  const auto store = find_store(environment);
  return store ? std::optional(store->parent_path() / "learned.json") : std::nullopt;
}

std::optional<Learned> find_learned(const fs::path& file, const std::string& card) {
  const json cards = read_cards(file);
  if (!cards.is_object() || !cards.contains(card) || !cards[card].is_object()) return std::nullopt;
  const auto order = parse_address_order(text_of(cards[card], "address_order"));
  if (!order) return std::nullopt;
  return Learned{*order, text_of(cards[card], "recording"), text_of(cards[card], "date")};
}

base::Result<void> keep_learned(const fs::path& file, const std::string& card, const Learned& learned) {
  json cards = read_cards(file);
  if (!cards.is_object()) cards = json::object();
  cards[card] = {
      {"address_order", to_string(learned.address_order)}, {"recording", learned.recording}, {"date", learned.date}};
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  const json whole = {{"version", kVersion}, {"cards", std::move(cards)}};
  return base::write_file(file.string(), whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace vramfit::app
