#include "plan/setting_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace vramfit::plan {
namespace {

using model::Setting;
using model::SettingForm;
using model::SettingSchema;

constexpr std::size_t kLongestText = 4096;  // letters
constexpr std::size_t kLongestList = 10'000;

SettingFault wrong_value() { return {true, "", false}; }

bool is_within(const SettingSchema& setting, double value) {
  const bool large_enough = setting.above_least ? value > setting.least : value >= setting.least;
  return std::isfinite(value) && large_enough && value <= setting.most;
}

// What a name or a value of an environment variable can be: PyTorch and the system would end at a NUL.
bool is_plain(std::string_view text) {
  return !text.empty() && text.size() <= kLongestText &&
         std::ranges::none_of(text, [](unsigned char letter) { return letter < ' ' || letter == 0x7f; });
}

SettingFault fault_of_text(const SettingSchema& setting, const std::string& text) {
  if (!is_plain(text)) return wrong_value();
  const bool known = setting.words.empty() || std::ranges::find(setting.words, text) != setting.words.end();
  return known ? SettingFault{} : SettingFault{true, text, false};
}

SettingFault fault_of_texts(const SettingSchema& setting, const std::vector<std::string>& list) {
  if (list.empty() || list.size() > kLongestList) return wrong_value();
  std::set<std::string_view> seen;
  for (const std::string& text : list) {
    if (const SettingFault fault = fault_of_text(setting, text); fault.found) return fault;
    if (!seen.insert(text).second) return {true, text, true};
  }
  return {};
}

SettingFault fault_of_wholes(const SettingSchema& setting, const std::vector<std::int64_t>& list) {
  if (list.empty() || list.size() > kLongestList) return wrong_value();
  std::set<std::int64_t> seen;
  for (const std::int64_t number : list) {
    if (!is_within(setting, static_cast<double>(number))) return wrong_value();
    if (!seen.insert(number).second && !setting.repeats) return {true, std::to_string(number), true};
  }
  return {};
}

bool is_option(const model::Options::value_type& option) {
  const auto* number = std::get_if<double>(&option.second);
  const auto* text = std::get_if<std::string>(&option.second);
  return is_plain(option.first) && (number == nullptr || std::isfinite(*number)) &&
         (text == nullptr || is_plain(*text));
}

SettingFault fault_of_options(const Setting& value) {
  if (const auto* options = std::get_if<model::Options>(&value)) {
    return std::ranges::all_of(*options, is_option) ? SettingFault{} : wrong_value();
  }
  return wrong_value();
}

SettingFault right_if(bool is_right) { return is_right ? SettingFault{} : wrong_value(); }

std::string range_of(const SettingSchema& setting) {
  const bool is_bounded = setting.most < model::kNoMost;
  const std::string most = setting.most < 1 ? fmt::format("{}", setting.most) : fmt::format("{:.0f}", setting.most);
  return fmt::format("{} {}{}", setting.above_least ? "above" : "from", setting.least,
                     is_bounded ? " to " + most : " on");
}

}  // namespace

SettingFault find_fault(const SettingSchema& setting, const Setting& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const auto* text = std::get_if<std::string>(&value);
  const auto* wholes = std::get_if<std::vector<std::int64_t>>(&value);
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  switch (setting.form) {
    case SettingForm::kFlag:
      return right_if(std::holds_alternative<bool>(value));
    case SettingForm::kWhole:
      return right_if(whole != nullptr && is_within(setting, static_cast<double>(*whole)));
    case SettingForm::kNumber:
      if (whole != nullptr) return right_if(is_within(setting, static_cast<double>(*whole)));
      return right_if(number != nullptr && is_within(setting, *number));
    case SettingForm::kText:
      return text == nullptr ? wrong_value() : fault_of_text(setting, *text);
    case SettingForm::kWholes:
      return wholes == nullptr ? wrong_value() : fault_of_wholes(setting, *wholes);
    case SettingForm::kTexts:
      return texts == nullptr ? wrong_value() : fault_of_texts(setting, *texts);
    case SettingForm::kOptions:
      return fault_of_options(value);
  }
  return wrong_value();
}

std::string describe_setting(const SettingSchema& setting) {
  const std::string words = setting.words.empty() ? "" : fmt::format(": \"{}\"", fmt::join(setting.words, "\", \""));
  switch (setting.form) {
    case SettingForm::kFlag:
      return "true or false";
    case SettingForm::kWhole:
      return "a whole number " + range_of(setting);
    case SettingForm::kNumber:
      return "a number " + range_of(setting);
    case SettingForm::kText:
      return words.empty() ? fmt::format("a text ({})", setting.meaning) : "one of" + words;
    case SettingForm::kWholes:
      return fmt::format("a list of whole numbers {} ({})", range_of(setting), setting.meaning);
    case SettingForm::kTexts:
      return words.empty() ? fmt::format("a list of {}", setting.meaning) : "a list of" + words;
    case SettingForm::kOptions:
      return fmt::format("an object of {}", setting.meaning);
  }
  return "";
}

}  // namespace vramfit::plan
