#include "report/gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {

using model::Card;
using nlohmann::ordered_json;

namespace {

std::string rate(const std::optional<double>& tflops) { return tflops ? fmt::format("{:.4g}", *tflops) : "-"; }

// For the list, whose lines hold 80 columns.
std::string short_rate(const std::optional<double>& tflops) {
  constexpr double kNoFraction = 100;
  if (!tflops) return "-";
  return *tflops < kNoFraction ? fmt::format("{:.3g}", *tflops) : fmt::format("{:.0f}", *tflops);
}

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

ordered_json mig_json(const Card& card) {
  ordered_json json = ordered_json::array();
  for (const model::MigProfile& profile : card.mig) {
    json.push_back({{"profile", profile.name},
                    {"memory_bytes", profile.memory.count()},
                    {"sm_count", profile.sm_count},
                    {"memory_slices", profile.memory_slices},
                    {"of", profile.of}});
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
          {"power_limit_watts", rate_json(card.power_limit_watts)},
          {"is_integrated", card.is_integrated},
          {"mig", mig_json(card)},
          {"rates_tflops", rates_json(card.rates)},
          {"overhead", overhead_json(card)},
          {"release_year", card.release_year},
          {"price_factor", card.price_factor},
          {"sources", card.sources}};
}

// The lines with a source, behind the figure that it is of.
std::string source_line(const std::string& source) {
  constexpr std::string_view kSourceIndent = "      ";
  std::string text(kSourceIndent);
  for (const char letter : wrap(source, kPageWidth - kSourceIndent.size(), 0)) {
    text += letter;
    if (letter == '\n') text += kSourceIndent;
  }
  return text + "\n";
}

struct Figure {
  std::string name, value;
  std::string_view source;  // its key in the card's sources
};

std::string megahertz(int khz) { return fmt::format("{} MHz", khz / 1000); }

std::vector<Figure> figures_of(const Card& card) {
  std::vector<Figure> figures = {
      {"memory", to_string(card.memory), "memory"},
      {"compute capability", fmt::format("{}.{}", card.capability.major, card.capability.minor), "limits"},
      {"multiprocessors", std::to_string(card.sm_count), "units"},
      {"clock, memory clock", fmt::format("{}, {}", megahertz(card.sm_clock_khz), megahertz(card.memory_clock_khz)),
       "clocks"},
      {"bandwidth", fmt::format("{:.4g} GB/s over {} bits", card.bandwidth_gbps, card.memory_bus_bits), "bandwidth"},
      {"L2", to_string(card.l2), "l2"}};
  const model::PeakRates& rates = card.rates;
  figures.push_back(
      {"fp64, fp32, tf32", fmt::format("{}, {}, {}", rate(rates.fp64), rate(rates.fp32), rate(rates.tf32)), "rates"});
  figures.push_back(
      {"fp16, on tensor cores", fmt::format("{}, {}", rate(rates.fp16), rate(rates.fp16_tensor)), "rates"});
  figures.push_back(
      {"bf16, fp8, int8", fmt::format("{}, {}, {}", rate(rates.bf16), rate(rates.fp8), rate(rates.int8)), "rates"});
  if (card.power_limit_watts) figures.push_back({"power", fmt::format("{:.4g} W", *card.power_limit_watts), "power"});
  for (const auto& [major, overhead] : card.overhead) {
    figures.push_back(
        {fmt::format("context, CUDA {}", major),
         fmt::format("{} +- {}", to_string(overhead.context_lazy), to_string(overhead.context_uncertainty)),
         "context"});
  }
  return figures;
}

// A source stands once, under the last of the figures that are from there.
std::string figures_text(const Card& card) {
  const std::vector<Figure> figures = figures_of(card);
  std::string text;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    text += fmt::format("  {:<22} {}\n", figures[i].name, figures[i].value);
    const auto source = card.sources.find(std::string(figures[i].source));
    const bool is_last = i + 1 == figures.size() || figures[i + 1].source != figures[i].source;
    if (is_last && source != card.sources.end()) text += source_line(source->second);
  }
  return text;
}

std::string slices_text(const Card& card) {
  if (card.mig.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"instance", "memory", "SMs", "L2 and GB/s"}};
  for (const model::MigProfile& profile : card.mig) {
    rows.push_back({fmt::format("{}:{}", card.key, profile.name), to_string(profile.memory),
                    std::to_string(profile.sm_count), fmt::format("{} of {}", profile.memory_slices, profile.of)});
  }
  const Column number{Align::kRight, 12};
  std::string text =
      "\nMIG instances, each a card of its own for --gpu\n" + table({{Align::kLeft, 40}, number, number, number}, rows);
  const auto source = card.sources.find("mig");
  return source == card.sources.end() ? text : text + source_line(source->second);
}

// What a run on such a card says and does not say.
constexpr std::string_view kSharedWithSystem =
    "The system, its file cache and every process on the processor take from the same memory: less than the total can "
    "be had. `--occupied SIZE` sets aside what they hold.";
constexpr std::string_view kSharedWithItself =
    "What the job itself holds on the host (batches, data sets, its interpreter) takes from it too. A run tells the "
    "host's peak beside the card's: the two together have to fit.";
constexpr std::string_view kNothingToMove =
    "Activations or optimizer states in host memory free nothing: `fit` leaves such plans out.";
constexpr std::string_view kOtherAnswers =
    "nvidia-smi tells no memory there, and cudaMemGetInfo what is free of the whole machine: code that asks for either "
    "may choose another batch than on the virtual card.";
constexpr std::string_view kOtherProcessor =
    "Its machine has an Arm processor. What runs here is the x86_64 build of PyTorch: the same tensors, other host "
    "memory.";
constexpr std::string_view kUnified[] = {kSharedWithSystem, kSharedWithItself, kNothingToMove, kOtherAnswers,
                                         kOtherProcessor};

std::string unified_text(const Card& card) {
  if (!card.is_integrated) return "";
  std::string text = "\nIt has no memory of its own, but the processor's (unified memory). What differs:\n";
  for (const std::string_view line : kUnified) text += indented_line(fmt::format("- {}", line));
  return text;
}

}  // namespace

std::string gpu_to_text(const Card& card) {
  std::string text = fmt::format("{} ({}), {}, {}\n", card.name, card.key, card.category, card.release_year);
  if (!card.aliases.empty()) text += wrap(fmt::format("also: {}", fmt::join(card.aliases, ", ")), kPageWidth, 6) + "\n";
  return text + "\n" + figures_text(card) + slices_text(card) + unified_text(card) +
         fmt::format("\nTOP/s of int8, TFLOP/s of the others: dense peaks. To run on it: --gpu {}\n", card.key);
}

std::string gpus_to_text(const std::vector<Card>& cards) {
  std::vector<std::vector<std::string>> rows = {{"key", "name", "GiB", "cc", "GB/s", "fp32", "16 bit"}};
  for (const Card& card : cards) {
    const auto& half =
        card.rates.bf16 ? card.rates.bf16 : (card.rates.fp16_tensor ? card.rates.fp16_tensor : card.rates.fp16);
    rows.push_back({card.key, card.name.starts_with("NVIDIA ") ? card.name.substr(7) : card.name,
                    fmt::format("{:.1f}", card.memory.as_gib()),
                    fmt::format("{}.{}", card.capability.major, card.capability.minor),
                    fmt::format("{:.0f}", card.bandwidth_gbps), short_rate(card.rates.fp32), short_rate(half)});
  }
  const Column number{Align::kRight, 10};
  return table({{Align::kLeft, 22}, {Align::kLeft, 20}, number, number, number, number, number}, rows) + "\n" +
         wrap(
             fmt::format("{} cards. Rates are dense peaks in TFLOP/s; 16 bit is bf16 where the card has it, else fp16.",
                         cards.size()),
             kPageWidth, 0) +
         "\nOne card with each figure's source, and its MIG instances: vramfit gpus h100\n";
}

std::string gpus_to_json(const std::vector<Card>& cards, std::string_view version) {
  ordered_json list = ordered_json::array();
  for (const Card& card : cards) list.push_back(card_json(card));
  return base::json_file(ordered_json{{"schema", kGpusSchema}, {"vramfit", version}, {"cards", list}});
}

}  // namespace vramfit::report
