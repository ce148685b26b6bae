#include "ingest/cards.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/nearest_word.h"
#include "ingest/toml_text.h"

namespace vramfit::ingest {

using base::Bytes;
using base::ErrorCode;
using base::Result;
using model::Card;

namespace {

std::string place(std::string_view name, const toml::source_region& source) {
  return fmt::format("{}:{}", name, source.begin.line);
}

// Reads fields of one table and remembers the first thing that is wrong with it.
class FieldReader {
 public:
  FieldReader(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  template <class Number>
  void number(std::string_view field, Number& into) {
    const toml::node* node = find(field);
    if (node == nullptr) return;
    const auto value = node->value<double>();
    if (!value || *value < 0 || *value > 9e15) return complain(*node, field, "must be a number that is not negative");
    into = static_cast<Number>(*value);
  }
  void number(std::string_view field, Bytes& into) {
    std::int64_t count = into.count();
    number(field, count);
    into = Bytes(count);
  }
  void number(std::string_view field, std::optional<double>& into) {
    if (find(field) == nullptr) return;
    double value = 0;
    number(field, value);
    into = value;
  }
  void text(std::string_view field, std::string& into) {
    const toml::node* node = find(field);
    if (node == nullptr) return;
    const auto value = node->value<std::string>();
    if (!value) return complain(*node, field, "must be a text");
    into = *value;
  }
  void texts(std::string_view field, std::vector<std::string>& into) {
    const toml::node* node = find(field);
    if (node == nullptr) return;
    if (!node->is_array()) return complain(*node, field, "must be a list of texts");
    into.clear();
    for (const toml::node& element : *node->as_array()) {
      const auto value = element.value<std::string>();
      if (!value) return complain(element, field, "must be a list of texts");
      into.push_back(*value);
    }
  }
  const toml::table* table(std::string_view field) {
    const toml::node* node = find(field);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) complain(*node, field, "must be a table");
    return node->as_table();
  }
  bool flag(std::string_view field) {
    const toml::node* node = find(field);
    return node != nullptr && node->value_or(false);
  }
  void complain(const toml::node& node, std::string_view field, std::string_view problem) {
    if (!error_)
      error_ =
          base::Error{ErrorCode::kCorrupt, fmt::format("`{}` {}", field, problem), place(file_, node.source()), ""};
  }
  const toml::node* find(std::string_view field) {
    asked_.emplace_back(field);
    return table_.get(field);
  }
  // Complains of a field that nobody asked for: a mistyped one would be passed over in silence.
  void complain_of_unknown() {
    for (const auto& [key, node] : table_) {
      if (std::ranges::find(asked_, key.str()) != asked_.end()) continue;
      const auto meant = base::nearest_word(key.str(), asked_);
      return complain(node, key.str(),
                      meant ? fmt::format("is not known; did you mean `{}`?", *meant) : "is not known");
    }
  }
  const std::optional<base::Error>& error() const { return error_; }

 private:
  const toml::table& table_;
  std::string_view file_;
  std::vector<std::string> asked_;
  std::optional<base::Error> error_;
};

void read_capability(FieldReader& fields, Card& card) {
  const toml::node* node = fields.find("compute_capability");
  if (node == nullptr) return;
  const std::string text =
      node->is_floating_point() ? fmt::format("{:.1f}", node->value_or(0.0)) : node->value_or(std::string());
  int used = 0;
  if (std::sscanf(text.c_str(), "%d.%d%n", &card.capability.major, &card.capability.minor, &used) != 2 ||
      static_cast<std::size_t>(used) != text.size()) {
    fields.complain(*node, "compute_capability", "must look like \"8.6\"");
  }
}

void read_board(FieldReader& fields, Card& card) {
  fields.text("key", card.key);
  fields.text("name", card.name);
  fields.texts("aliases", card.aliases);
  fields.text("category", card.category);
  fields.number("memory_bytes", card.memory);
  read_capability(fields, card);
  fields.number("sm_count", card.sm_count);
  fields.number("max_threads_per_sm", card.max_threads_per_sm);
  fields.number("max_blocks_per_sm", card.max_blocks_per_sm);
  fields.number("registers_per_sm", card.registers_per_sm);
  fields.number("shared_bytes_per_sm", card.shared_bytes_per_sm);
  fields.number("shared_bytes_per_block_optin", card.shared_bytes_per_block_optin);
  fields.number("l2_bytes", card.l2);
  fields.number("memory_bus_bits", card.memory_bus_bits);
  fields.number("memory_clock_khz", card.memory_clock_khz);
  fields.number("sm_clock_khz", card.sm_clock_khz);
  fields.number("bandwidth_gbps", card.bandwidth_gbps);
  fields.number("power_limit_watts", card.power_limit_watts);
  fields.number("release_year", card.release_year);
  fields.number("price_factor", card.price_factor);
  if (fields.find("is_integrated") != nullptr) card.is_integrated = fields.flag("is_integrated");
}

// The first thing that is wrong with one, if anything is.
std::optional<base::Error> read_profile(const toml::table& table, std::string_view file, model::MigProfile& profile) {
  FieldReader fields(table, file);
  std::int64_t memory_mib = 0;
  fields.text("profile", profile.name);
  fields.number("sm_count", profile.sm_count);
  fields.number("memory_mib", memory_mib);
  fields.number("memory_slices", profile.memory_slices);
  fields.number("of", profile.of);
  profile.memory = Bytes::mib(memory_mib);
  fields.complain_of_unknown();
  if (profile.name.empty() || profile.sm_count == 0 || memory_mib == 0 || profile.memory_slices == 0 ||
      profile.of < profile.memory_slices) {
    fields.complain(table, "mig", "needs profile, sm_count, memory_mib, memory_slices and of");
  }
  return fields.error();
}

std::optional<base::Error> read_profiles(const toml::table& card, std::string_view file,
                                         std::vector<model::MigProfile>& into) {
  const toml::node* node = card.get("mig");
  if (node == nullptr) return std::nullopt;
  FieldReader fields(card, file);
  if (!node->is_array()) {
    fields.complain(*node, "mig", "must be a list of tables");
    return fields.error();
  }
  into.clear();
  for (const toml::node& element : *node->as_array()) {
    if (!element.is_table()) {
      fields.complain(element, "mig", "must be a list of tables");
      return fields.error();
    }
    if (auto error = read_profile(*element.as_table(), file, into.emplace_back())) return error;
  }
  return std::nullopt;
}

// The driver lists instances in rounded figures, and what is recorded of them is of another driver than the card's own
// memory: together they are never larger than the card.
void keep_within(Bytes memory, std::vector<model::MigProfile>& profiles) {
  for (model::MigProfile& profile : profiles) {
    const Bytes share(memory.count() / std::max(profile.of, 1) * profile.memory_slices);
    profile.memory = std::min(profile.memory, share);
  }
}

void read_rates(FieldReader& fields, model::PeakRates& rates) {
  const std::pair<std::string_view, std::optional<double>*> all[] = {{"fp64", &rates.fp64},
                                                                     {"fp32", &rates.fp32},
                                                                     {"tf32", &rates.tf32},
                                                                     {"fp16", &rates.fp16},
                                                                     {"fp16_tensor", &rates.fp16_tensor},
                                                                     {"bf16", &rates.bf16},
                                                                     {"int8", &rates.int8},
                                                                     {"fp8", &rates.fp8}};
  for (const auto& [field, into] : all) fields.number(field, *into);
}

void read_overhead(FieldReader& fields, model::OverheadMemory& overhead) {
  fields.number("context_lazy_bytes", overhead.context_lazy);
  fields.number("context_eager_bytes", overhead.context_eager);
  fields.number("context_uncertainty_bytes", overhead.context_uncertainty);
  fields.number("kernel_bytes", overhead.kernels);
  fields.number("library_bytes", overhead.library);
}

// Runs `read` on a sub-table, if there is one; its first error becomes the result's.
template <class Read>
std::optional<base::Error> read_part(FieldReader& fields, std::string_view field, std::string_view file, Read read) {
  const toml::table* part = fields.table(field);
  if (part == nullptr) return fields.error();
  FieldReader inner(*part, file);
  read(inner, *part);
  return inner.error();
}

std::optional<std::string> missing_figure(const Card& card) {
  if (card.name.empty()) return "name";
  if (card.memory.count() == 0) return "memory_bytes";
  if (card.capability.major == 0) return "compute_capability";
  if (card.sm_count == 0) return "sm_count";
  return std::nullopt;
}

Result<Card> apply_base(const toml::table& table, std::string_view file, const std::vector<Card>& known) {
  const toml::node* node = table.get("based_on");
  if (node == nullptr) return Card();
  const std::string key = node->value_or(std::string());
  for (const Card& card : known) {
    if (card.key == key) return card;
  }
  return base::fail(ErrorCode::kNotFound, fmt::format("`based_on` names no card of the catalogue: \"{}\"", key),
                    place(file, node->source()), "a key that `vramfit gpus` lists");
}

Result<Card> parse_card(const toml::table& table, std::string_view file, const std::vector<Card>& known) {
  auto card = apply_base(table, file, known);
  if (!card) return card;
  FieldReader fields(table, file);
  read_board(fields, *card);
  std::optional<base::Error> error = fields.error();
  const auto keep_first = [&](std::optional<base::Error> next) {
    if (!error) error = std::move(next);
  };
  keep_first(read_profiles(table, file, card->mig));
  keep_within(card->memory, card->mig);
  keep_first(read_part(fields, "rates", file, [&](FieldReader& part, const auto&) {
    read_rates(part, card->rates);
    part.complain_of_unknown();
  }));
  keep_first(read_part(fields, "overhead", file, [&](FieldReader& part, const toml::table& majors) {
    for (const auto& [major, entry] : majors) {
      if (!entry.is_table()) return part.complain(entry, major.str(), "must be a table");
      FieldReader figures(*entry.as_table(), file);
      read_overhead(figures, card->overhead[std::atoi(std::string(major.str()).c_str())]);
      figures.complain_of_unknown();
      if (figures.error()) error = figures.error();
    }
  }));
  keep_first(read_part(fields, "sources", file, [&](FieldReader&, const toml::table& sources) {
    for (const auto& [figure, source] : sources) {
      card->sources[std::string(figure.str())] = source.value_or(std::string());
    }
  }));
  for (const char* own : {"mig", "based_on", "schema"}) static_cast<void>(fields.find(own));  // read above
  fields.complain_of_unknown();
  keep_first(fields.error());
  if (error) return std::unexpected(*error);
  if (card->key.empty()) card->key = card->name;
  if (const auto missing = missing_figure(*card)) {
    return base::fail(ErrorCode::kCorrupt, fmt::format("a card without `{}`", *missing), place(file, table.source()),
                      "give it, or take the rest from a known card with based_on = \"KEY\"");
  }
  return card;
}

}  // namespace

Result<std::vector<Card>> parse_cards(std::string_view text, std::string_view name, const std::vector<Card>& known) {
  auto read = read_toml(text);
  if (!read) return base::fail(ErrorCode::kCorrupt, read.error().what, fmt::format("{}:{}", name, read.error().line));
  toml::table& root = *read;
  std::vector<Card> cards;
  std::set<std::string> keys;
  const auto add = [&](const toml::table& table) -> std::optional<base::Error> {
    auto card = parse_card(table, name, known);
    if (!card) return card.error();
    if (!keys.insert(card->key).second) {
      return base::Error{ErrorCode::kCorrupt, fmt::format("two cards have the key \"{}\"", card->key),
                         place(name, table.source()), ""};
    }
    cards.push_back(std::move(*card));
    return std::nullopt;
  };
  const toml::array* list = root["card"].as_array();
  if (list == nullptr) {
    if (auto error = add(root)) return std::unexpected(std::move(*error));
    return cards;
  }
  for (const toml::node& element : *list) {
    if (!element.is_table())
      return base::fail(ErrorCode::kCorrupt, "`card` must be a list of tables", place(name, element.source()));
    if (auto error = add(*element.as_table())) return std::unexpected(std::move(*error));
  }
  return cards;
}

Result<std::vector<Card>> read_cards(const std::filesystem::path& path, const std::vector<Card>& known) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  return parse_cards(*text, path.string(), known);
}

}  // namespace vramfit::ingest
