#include "devices/mig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/letters.h"

namespace vramfit::devices {

using base::Bytes;
using model::Card;
using model::MigProfile;

namespace {

// What stands between a card and its profile, besides the word MIG.
constexpr std::string_view kBetween = " :_-,";

// The part of a context that does not grow with the card: see the head of cards.toml.
constexpr Bytes kContextBase = Bytes::mib(31);

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && base::is_digit(text[end])) ++end;
  return end - from;
}

// "1g.10gb", and what may follow: "+me", "+gfx", "+me.all", "-me".
bool is_profile(std::string_view text) {
  const std::size_t slices = digits_at(text, 0);
  if (slices != 1 || text.substr(1, 2) != "g.") return false;
  const std::size_t size = digits_at(text, 3);
  if (size == 0 || size > 3 || text.substr(3 + size, 2) != "gb") return false;
  const std::string_view rest = text.substr(5 + size);
  return rest.empty() || rest == "+me" || rest == "+gfx" || rest == "+me.all" || rest == "-me";
}

std::string_view without_extras(std::string_view profile) {
  return profile.substr(0, std::min(profile.find("gb"), profile.size() - 2) + 2);
}

Bytes share(Bytes of, double part) { return Bytes(static_cast<std::int64_t>(static_cast<double>(of.count()) * part)); }

void scale_rates(model::PeakRates& rates, double part) {
  for (std::optional<double>* rate :
       {&rates.fp64, &rates.fp32, &rates.tf32, &rates.fp16, &rates.fp16_tensor, &rates.bf16, &rates.int8, &rates.fp8}) {
    if (*rate) **rate *= part;
  }
}

void scale_overhead(model::OverheadMemory& overhead, double part) {
  const Bytes lazy = kContextBase + share(overhead.context_lazy - kContextBase, part);
  overhead.context_eager = overhead.context_eager - overhead.context_lazy + lazy;
  overhead.context_lazy = lazy;
  overhead.kernels = share(overhead.kernels, part);
}

}  // namespace

std::optional<SliceName> find_slice_name(std::string_view name) {
  std::string low = base::lowered(name);
  while (low.ends_with(' ')) low.pop_back();
  // The profile begins at the last "Ng." before which no letter or digit stands.
  const std::size_t dot = low.rfind("g.", low.ends_with(".all") ? low.size() - 5 : std::string::npos);
  if (dot == std::string::npos || dot == 0) return std::nullopt;
  const std::size_t start = dot - 1;
  if (!is_profile(std::string_view(low).substr(start))) return std::nullopt;
  std::size_t end = start;
  // "1c.2g.20gb": a compute instance of 2g.20gb, whose memory is that of the whole of it.
  if (end >= 3 && low[end - 1] == '.' && low[end - 2] == 'c' && digits_at(low, end - 3) == 1) end -= 3;
  const std::size_t begin = end;
  while (end > 0 && kBetween.find(low[end - 1]) != std::string_view::npos) --end;
  if (end == begin || end == 0) return std::nullopt;
  if (end >= 3 && std::string_view(low).substr(end - 3, 3) == "mig") {
    end -= 3;
    while (end > 0 && kBetween.find(low[end - 1]) != std::string_view::npos) --end;
  }
  if (end == 0) return std::nullopt;
  return SliceName{name.substr(0, end), low.substr(start)};
}

const MigProfile* find_profile(const Card& card, std::string_view profile) {
  const auto found = std::ranges::find(card.mig, without_extras(profile), &MigProfile::name);
  return found == card.mig.end() ? nullptr : &*found;
}

Card cut_slice(const Card& card, const MigProfile& profile, std::string_view called) {
  Card slice = card;
  const double of_memory = static_cast<double>(profile.memory_slices) / std::max(profile.of, 1);
  const double of_sms = static_cast<double>(profile.sm_count) / std::max(card.sm_count, 1);
  slice.key = fmt::format("{}:{}", card.key, called);
  slice.name = fmt::format("{} MIG {}", card.name, called);
  slice.aliases.clear();
  slice.instance = model::MigInstance{card.name, card.memory, card.sm_count, profile.name.front() - '0'};
  slice.mig.clear();
  slice.memory = profile.memory;
  slice.sm_count = profile.sm_count;
  slice.l2 = share(card.l2, of_memory);
  slice.memory_bus_bits = static_cast<int>(card.memory_bus_bits * of_memory);
  slice.bandwidth_gbps = card.bandwidth_gbps * of_memory;
  slice.price_factor = card.price_factor * of_memory;
  scale_rates(slice.rates, of_sms);
  for (auto& [major, overhead] : slice.overhead) scale_overhead(overhead, of_sms);
  const auto source = card.sources.find("mig");
  const std::string from = source == card.sources.end() ? "the card file" : source->second;
  for (const char* figure : {"memory", "units"}) slice.sources[figure] = from;
  for (const char* figure : {"l2", "bandwidth"}) {
    slice.sources[figure] =
        fmt::format("{} of {} slices of the card's memory: NVIDIA MIG user guide", profile.memory_slices, profile.of);
  }
  slice.sources["rates"] = fmt::format("{} of the card's {} SMs", profile.sm_count, card.sm_count);
  return slice;
}

base::Error no_such_profile(const Card& card, std::string_view profile) {
  if (card.mig.empty()) {
    return {base::ErrorCode::kNotFound, fmt::format("no MIG instances of {} are known", card.key), "--gpu",
            fmt::format("{}:SIZE is that card with another memory; a TOML file describes any other", card.key)};
  }
  std::vector<std::string> names;
  for (const MigProfile& one : card.mig) names.push_back(fmt::format("{}:{}", card.key, one.name));
  return {base::ErrorCode::kNotFound, fmt::format("{} has no MIG instance {}", card.key, profile), "--gpu",
          fmt::format("it has {}", fmt::join(names, ", "))};
}

}  // namespace vramfit::devices
