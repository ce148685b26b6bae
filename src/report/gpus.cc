#include "report/gpus.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/layout.h"

namespace vramfit::report {

using model::Card;
using nlohmann::ordered_json;

namespace {

std::string rate(const std::optional<double>& tflops) { return tflops ? fmt::format("{:.4g}", *tflops) : "-"; }

ordered_json rate_json(const std::optional<double>& tflops) {
  return tflops ? ordered_json(*tflops) : ordered_json(nullptr);
}

ordered_json rates_json(const model::PeakRates& rates) {
  return {{"fp64", rate_json(rates.fp64)},
          {"fp32", rate_json(rates.fp32)},
          {"tf32", rate_json(rates.tf32)},
          {"fp16", rate_json(rates.fp16)},
          {"fp16_tensor", rate_json(rates.fp16_tensor)},
          {"bf16", rate_json(rates.bf16)},
          {"int8", rate_json(rates.int8)},
          {"fp8", rate_json(rates.fp8)}};
}

ordered_json overhead_json(const Card& card) {
  ordered_json json = ordered_json::object();
  for (const auto& [major, overhead] : card.overhead) {
    json[std::to_string(major)] = {{"context_lazy_bytes", overhead.context_lazy.count()},
                                   {"context_eager_bytes", overhead.context_eager.count()},
                                   {"context_uncertainty_bytes", overhead.context_uncertainty.count()},
                                   {"kernel_bytes", overhead.kernels.count()},
                                   {"library_bytes", overhead.library.count()}};
  }
  return json;
}

ordered_json card_json(const Card& card) {
  return {{"key", card.key},
          {"name", card.name},
          {"aliases", card.aliases},
          {"category", card.category},
          {"memory_bytes", card.memory.count()},
          {"compute_capability", fmt::format("{}.{}", card.capability.major, card.capability.minor)},
          {"sm_count", card.sm_count},
          {"max_threads_per_sm", card.max_threads_per_sm},
          {"max_blocks_per_sm", card.max_blocks_per_sm},
          {"registers_per_sm", card.registers_per_sm},
          {"shared_bytes_per_sm", card.shared_bytes_per_sm},
          {"shared_bytes_per_block_optin", card.shared_bytes_per_block_optin},
          {"l2_bytes", card.l2.count()},
          {"sm_clock_khz", card.sm_clock_khz},
          {"memory_clock_khz", card.memory_clock_khz},
          {"memory_bus_bits", card.memory_bus_bits},
          {"bandwidth_gbps", card.bandwidth_gbps},
          {"rates_tflops", rates_json(card.rates)},
          {"overhead", overhead_json(card)},
          {"release_year", card.release_year},
          {"price_factor", card.price_factor},
          {"sources", card.sources}};
}

}  // namespace

std::string gpus_to_text(const std::vector<Card>& cards) {
  std::vector<std::vector<std::string>> rows = {{"key", "name", "memory", "cc", "GB/s", "fp32", "16 bit", "year"}};
  for (const Card& card : cards) {
    const auto& half =
        card.rates.bf16 ? card.rates.bf16 : (card.rates.fp16_tensor ? card.rates.fp16_tensor : card.rates.fp16);
    rows.push_back({card.key, card.name.starts_with("NVIDIA ") ? card.name.substr(7) : card.name,
                    fmt::format("{:.2f} GiB", card.memory.as_gib()),
                    fmt::format("{}.{}", card.capability.major, card.capability.minor),
                    fmt::format("{:.0f}", card.bandwidth_gbps), rate(card.rates.fp32), rate(half),
                    std::to_string(card.release_year)});
  }
  const Column number{Align::kRight, 10};
  return table({{Align::kLeft, 16}, {Align::kLeft, 20}, number, number, number, number, number, number}, rows) +
         fmt::format(
             "\n{} cards. Rates are dense peaks in TFLOP/s; 16 bit is bf16 where the card has it, else fp16.\n"
             "Every figure's source: vramfit gpus --json -\n",
             cards.size());
}

std::string gpus_to_json(const std::vector<Card>& cards, std::string_view version) {
  ordered_json list = ordered_json::array();
  for (const Card& card : cards) list.push_back(card_json(card));
  return base::json_file(ordered_json{{"vramfit", version}, {"cards", list}});
}

}  // namespace vramfit::report
