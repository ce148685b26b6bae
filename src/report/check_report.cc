#include "report/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {

namespace {

using model::Agreement;
using model::CheckDifference;
using model::CheckEvent;
using model::CheckFigure;
using model::CheckResult;
using nlohmann::ordered_json;

constexpr std::size_t kShownDifferences = 1;

std::string_view mark_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::kSame:
    case Agreement::kReordered:
      return "[✓]";
    case Agreement::kDifferent:
      return "[✗]";
    case Agreement::kNotCompared:
      break;
  }
  return "[?]";
}

// A size that two people compare is told to the byte.
std::string exact(base::Bytes size) {
  return size.count() < 1024 ? fmt::format("{} bytes", size.count())
                             : fmt::format("{} ({} bytes)", to_string(size), size.count());
}

std::string describe(const std::optional<CheckEvent>& event) {
  if (!event) return "nothing more";
  std::string text = fmt::format("{} {}", event->action, exact(event->size));
  if (!event->line.empty()) text += " at " + event->line;
  return text;
}

std::string difference(const CheckDifference& one) {
  std::string text = indented_line(fmt::format("recorded, event {}: {}", one.recorded_at, describe(one.recorded)));
  text += indented_line(fmt::format("virtual, event {}: {}", one.virtual_at, describe(one.virtual_run)));
  text += indented_line(one.is_reordering
                            ? fmt::format("a reordering: {} recorded and {} virtual events here come elsewhere on the "
                                          "other side",
                                          one.recorded_events, one.virtual_events)
                            : fmt::format("{} recorded events and {} virtual ones, then both agree again",
                                          one.recorded_events, one.virtual_events));
  return text;
}

std::string differences(const CheckResult& result, bool verbose) {
  if (result.differences.empty()) return "";
  std::string text = "\nThe first event that differs\n" + difference(result.differences.front());
  const std::size_t most = verbose ? result.differences.size() : kShownDifferences;
  for (std::size_t i = 1; i < std::min(most, result.differences.size()); ++i) {
    text += "\n" + difference(result.differences[i]);
  }
  const auto left = result.all_differences - static_cast<std::int64_t>(std::min(most, result.differences.size()));
  if (left > 0)
    text += indented_line(fmt::format("… and {} more places{}", left, verbose ? "" : "; -v shows the first 20"));
  return text;
}

std::string causes(const CheckResult& result) {
  if (result.causes.empty()) return "";
  std::string text = "\nWhy\n";
  for (const model::CheckReason& reason : result.causes) {
    text += "  - " + wrap(reason.text, kPageWidth - 4, 4) + "\n";
  }
  return text;
}

std::string value(const std::optional<std::int64_t>& number, bool is_bytes) {
  if (!number) return "not told";
  return is_bytes ? to_string(base::Bytes(*number)) : std::to_string(*number);
}

std::string apart(const CheckFigure& figure) {
  if (!figure.recorded || !figure.virtual_run) return "";
  if (figure.is_same()) return "same";
  const std::int64_t more = *figure.virtual_run - *figure.recorded;
  return fmt::format("{}{}", more > 0 ? "+" : "-", value(std::abs(more), figure.is_bytes));
}

std::string sums(const CheckResult& result) {
  if (result.figures.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"", "recorded", "virtual", ""}};
  for (const CheckFigure& figure : result.figures) {
    rows.push_back({figure.name, value(figure.recorded, figure.is_bytes), value(figure.virtual_run, figure.is_bytes),
                    apart(figure)});
  }
  return "\nSums\n" + table({{}, {Align::kRight}, {Align::kRight}, {}}, rows);
}

std::string places(const CheckResult& result) {
  std::string text;
  if (result.places > 0) {
    text += indented_line(
        fmt::format("{} of {} blocks in the same segment at the same offset", result.same_places, result.places));
  }
  if (result.first_other_place) text += indented_line("the first elsewhere: " + describe(result.first_other_place));
  if (result.recorded_segments + result.virtual_segments > 0) {
    text += indented_line(fmt::format("{} of {} segments have the same size, in order ({} in the virtual run)",
                                      result.same_segments, result.recorded_segments, result.virtual_segments));
  }
  if (!result.recorded_address_order.empty()) {
    text += indented_line(fmt::format("order of addresses: {} recorded, {} in the virtual run",
                                      result.recorded_address_order, result.virtual_address_order));
  }
  return text.empty() ? "" : "\nPlaces\n" + text;
}

std::string compared(const CheckResult& result) {
  std::string text = "\nCompared\n";
  text += indented_line(fmt::format("{}: {}{}", result.format, result.recording,
                                    result.recorded_torch.empty() ? "" : ", torch " + result.recorded_torch));
  if (!result.partner.empty()) {
    text += indented_line(
        fmt::format("with the run on a virtual {}, torch {}: {}", result.card, result.torch, result.partner));
  }
  if (result.before_events + result.after_events > 0) {
    text += indented_line(fmt::format("the recording covers {} of its events; {} come before, {} after",
                                      result.virtual_events, result.before_events, result.after_events));
  }
  for (const std::string& note : result.notes) text += indented_line(note);
  return text + indented_line(fmt::format("it took {:.1f} s", result.seconds));
}

std::string summary(const CheckResult& result) {
  std::string text = fmt::format("{} {}", mark_of(result.agreement), result.text);
  const auto reserved = std::ranges::find(result.figures, "reserved at the end", &CheckFigure::name);
  if (reserved != result.figures.end() && reserved->recorded && reserved->virtual_run) {
    text += reserved->is_same() ? fmt::format("; {} reserved in both", to_string(base::Bytes(*reserved->recorded)))
                                : fmt::format("; reserved: {} recorded, {} in the virtual run",
                                              to_string(base::Bytes(*reserved->recorded)),
                                              to_string(base::Bytes(*reserved->virtual_run)));
  }
  return wrap(text, kPageWidth, 4) + "\n";
}

ordered_json optional_json(const std::optional<std::int64_t>& number) {
  return number ? ordered_json(*number) : ordered_json(nullptr);
}

ordered_json event_json(const std::optional<CheckEvent>& event) {
  if (!event) return nullptr;
  return {{"action", event->action}, {"size_bytes", event->size.count()}, {"line", event->line}};
}

ordered_json difference_json(const CheckDifference& one) {
  return {{"recorded_at", one.recorded_at},         {"virtual_at", one.virtual_at},
          {"recorded", event_json(one.recorded)},   {"virtual", event_json(one.virtual_run)},
          {"recorded_events", one.recorded_events}, {"virtual_events", one.virtual_events},
          {"reordering", one.is_reordering}};
}

}  // namespace

std::string check_to_text(const CheckResult& result, const TextOptions& options) {
  std::string text = summary(result) + differences(result, options.verbose) + causes(result) + sums(result) +
                     places(result) + compared(result);
  if (!result.learned.empty()) {
    text += "\nLearned\n";
    for (const std::string& each : result.learned) text += indented_line(each);
  }
  return options.color ? paint_marks(text) : text;
}

std::string check_to_json(const CheckResult& result, std::string_view version) {
  ordered_json json = {{"schema", kCheckSchema},
                       {"vramfit", version},
                       {"recording", result.recording},
                       {"format", result.format},
                       {"partner", result.partner},
                       {"card", result.card},
                       {"torch", result.torch},
                       {"recorded_torch", result.recorded_torch},
                       {"agreement", to_string(result.agreement)},
                       {"text", result.text}};
  json["events"] = {{"recorded", result.recorded_events},
                    {"virtual", result.virtual_events},
                    {"before", result.before_events},
                    {"after", result.after_events},
                    {"same", result.same},
                    {"moved", result.moved},
                    {"only_recorded", result.only_recorded},
                    {"only_virtual", result.only_virtual}};
  json["differences"] = ordered_json::array();
  for (const CheckDifference& one : result.differences) json["differences"].push_back(difference_json(one));
  json["all_differences"] = result.all_differences;
  json["places"] = {{"same", result.same_places},
                    {"of", result.places},
                    {"first_other", event_json(result.first_other_place)},
                    {"recorded_order", result.recorded_address_order},
                    {"virtual_order", result.virtual_address_order}};
  json["segments"] = {
      {"same", result.same_segments}, {"recorded", result.recorded_segments}, {"virtual", result.virtual_segments}};
  json["figures"] = ordered_json::array();
  for (const CheckFigure& figure : result.figures) {
    json["figures"].push_back({{"name", figure.name},
                               {"unit", figure.is_bytes ? "bytes" : "count"},
                               {"recorded", optional_json(figure.recorded)},
                               {"virtual", optional_json(figure.virtual_run)}});
  }
  json["causes"] = ordered_json::array();
  for (const model::CheckReason& reason : result.causes) {
    json["causes"].push_back({{"cause", to_string(reason.cause)}, {"text", reason.text}});
  }
  json["notes"] = result.notes;
  json["learned"] = result.learned;
  json["seconds"] = result.seconds;
  return base::json_file(json);
}

}  // namespace vramfit::report
