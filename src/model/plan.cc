#include "model/plan.h"

namespace vramfit::model {
namespace {

template <typename T>
const T* find_setting(const Change& change, std::string_view name) {
  const auto found = change.settings.find(std::string(name));
  return found == change.settings.end() ? nullptr : std::get_if<T>(&found->second);
}

template <typename T>
std::optional<T> copy_setting(const Change& change, std::string_view name) {
  const T* value = find_setting<T>(change, name);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

}  // namespace

std::optional<std::int64_t> find_integer(const Change& change, std::string_view name) {
  return copy_setting<std::int64_t>(change, name);
}

std::optional<double> find_number(const Change& change, std::string_view name) {
  if (const auto whole = find_integer(change, name)) return static_cast<double>(*whole);
  return copy_setting<double>(change, name);
}

std::optional<std::string> find_text(const Change& change, std::string_view name) {
  return copy_setting<std::string>(change, name);
}

std::vector<std::string> find_names(const Change& change, std::string_view name) {
  return copy_setting<std::vector<std::string>>(change, name).value_or(std::vector<std::string>{});
}

const Change* find_change(const Plan& plan, std::string_view technique) {
  for (const Change& change : plan.changes) {
    if (change.technique == technique) return &change;
  }
  return nullptr;
}

}  // namespace vramfit::model
