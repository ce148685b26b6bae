#include "report/watch_peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/bytes.h"
#include "base/json_text.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {

using model::CardPeak;
using nlohmann::ordered_json;

namespace {

std::string bytes_text(const model::Reading& reading) {
  return reading ? base::to_string(base::Bytes(*reading)) : std::string("unknown");
}

// The driver shows no memory by process inside many containers: then only the card's own growth can be told.
model::Reading growth(const CardPeak& card) {
  if (!card.card_peak_bytes || !card.card_before_bytes) return model::Absence::kNotSupported;
  return std::max<std::int64_t>(*card.card_peak_bytes - *card.card_before_bytes, 0);
}

std::string card_line(const CardPeak& card) {
  const std::string head = fmt::format("GPU {} {}{}", card.index ? fmt::format("{}", *card.index) : "?", card.name,
                                       card.session.empty() ? "" : " (virtual)");
  if (card.peak_bytes) {
    return wrap(fmt::format("{}: peak {} of {}, {}", head, bytes_text(card.peak_bytes), bytes_text(card.total_bytes),
                            card.exact ? std::string("exact")
                                       : fmt::format("in {} process{}, {:.2f} s after the start", card.processes,
                                                     card.processes == 1 ? "" : "es", card.at_seconds)),
                kPageWidth - 2, 4);
  }
  return wrap(fmt::format("{}: the whole card grew by {} to {}; the driver showed no memory of the command's own "
                          "processes",
                          head, bytes_text(growth(card)), bytes_text(card.card_peak_bytes)),
              kPageWidth - 2, 4);
}

bool is_worth_telling(const CardPeak& card) { return card.peak_bytes || growth(card).value_or(0) > 0; }

std::string how_sampled(const model::CommandPeaks& peaks) {
  const auto is_sampled = [](const CardPeak& card) { return is_worth_telling(card) && !card.exact; };
  const bool any_exact = std::ranges::any_of(peaks.cards, &CardPeak::exact);
  if (any_exact && std::ranges::none_of(peaks.cards, is_sampled))
    return "counted by the virtual card at every allocation";
  return fmt::format("sampled every {:.0f} ms ({} samples, longest gap {:.0f} ms)", peaks.interval_seconds * 1e3,
                     peaks.samples, peaks.longest_gap_seconds * 1e3);
}

ordered_json reading_json(const model::Reading& reading) {
  return reading ? ordered_json(*reading) : ordered_json(nullptr);
}

}  // namespace

std::string peaks_to_text(const model::CommandPeaks& peaks) {
  std::string text =
      fmt::format("vramfit watch: the command {} after {:.1f} s; host memory {}\n",
                  peaks.exit_code == 0 ? "ended" : fmt::format("ended with exit code {}", peaks.exit_code),
                  peaks.wall_seconds, base::to_string(base::Bytes(peaks.host_peak_bytes)));
  bool any = false;
  for (const CardPeak& card : peaks.cards) {
    if (!is_worth_telling(card)) continue;
    text += "  " + card_line(card) + "\n";
    any = true;
  }
  if (any) return text + "  " + how_sampled(peaks) + "\n";
  if (peaks.cards.empty() || !peaks.driver_problem.empty()) {
    const std::string why = peaks.driver_problem.empty() ? "no card was there" : peaks.driver_problem;
    return text + wrap("  no GPU memory could be measured: " + why, kPageWidth, 4) + "\n";
  }
  return text + "  it used no GPU memory; " + how_sampled(peaks) + "\n";
}

std::string peaks_to_json(const model::CommandPeaks& peaks, std::string_view version) {
  ordered_json result;
  result["schema"] = kPeaksSchema;
  result["vramfit"] = version;
  result["verb"] = "watch";
  result["command"] = peaks.command;
  result["exit_code"] = peaks.exit_code;
  result["wall_seconds"] = peaks.wall_seconds;
  result["host_peak_bytes"] = peaks.host_peak_bytes;
  result["interval_seconds"] = peaks.interval_seconds;
  result["samples"] = peaks.samples;
  result["longest_gap_seconds"] = peaks.longest_gap_seconds;
  result["driver_problem"] = peaks.driver_problem.empty() ? ordered_json(nullptr) : ordered_json(peaks.driver_problem);
  result["cards"] = ordered_json::array();
  for (const CardPeak& card : peaks.cards) {
    ordered_json one;
    one["uuid"] = card.uuid;
    one["name"] = card.name;
    one["index"] = reading_json(card.index);
    one["virtual"] = !card.session.empty();
    one["total_bytes"] = reading_json(card.total_bytes);
    one["peak_bytes"] = reading_json(card.peak_bytes);
    one["exact"] = card.exact;
    one["at_seconds"] = card.peak_bytes ? ordered_json(card.at_seconds) : ordered_json(nullptr);
    one["processes"] = card.processes;
    one["card_before_bytes"] = reading_json(card.card_before_bytes);
    one["card_peak_bytes"] = reading_json(card.card_peak_bytes);
    result["cards"].push_back(std::move(one));
  }
  return base::json_file(result);
}

}  // namespace vramfit::report
