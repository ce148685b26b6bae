#include "doctor/outside_pytorch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "devices/overhead.h"
#include "doctor/sizes.h"
#include "model/oom_figures.h"

namespace vramfit::doctor {

namespace {

using model::Card;
using model::OomMessage;
using model::OutsidePyTorch;

constexpr std::size_t kMostNames = 4;
constexpr std::int64_t kSame = std::int64_t{10} << 20;  // what is printed has steps of 10 MiB
constexpr int kMostLibraries = 4;

std::vector<Card> cards_of(const Case& given, const OomMessage& message) {
  if (given.card) return {*given.card};
  std::vector<Card> cards;
  for (const model::GpuStatus& status : given.texts.gpu_status) {
    for (const model::GpuCard& seen : status.cards) {
      for (const Card& card : given.cards) {
        if (card.name == seen.name && std::ranges::find(cards, card) == cards.end()) cards.push_back(card);
      }
    }
  }
  if (!cards.empty() || !message.total) return cards;
  std::ranges::copy_if(given.cards, std::back_inserter(cards),
                       [&](const Card& card) { return has_capacity(card, message.total->value); });
  return cards;
}

std::string with_libraries(int count) {
  static constexpr std::array<const char*, kMostLibraries + 1> kWords = {
      "kernels alone", "kernels and one library", "kernels and two libraries", "kernels and three libraries",
      "kernels and four libraries"};
  return kWords[static_cast<std::size_t>(count)];
}

// How many libraries come nearest.
int nearest_libraries(Bytes held, const devices::Overhead& overhead) {
  int nearest = 0;
  const auto off = [&](int count) { return std::abs((held - devices::total_of(overhead, count)).count()); };
  for (int count = 1; count <= kMostLibraries; ++count) nearest = off(count) < off(nearest) ? count : nearest;
  return nearest;
}

std::string by_how_much(std::int64_t difference) {
  if (std::abs(difference) <= kSame) return "the same";
  return fmt::format("{} {}", to_string(Bytes(std::abs(difference))), difference < 0 ? "less" : "more");
}

std::string compare(Bytes held, const Card& card) {
  const devices::Overhead overhead = devices::find_overhead(card, {});
  const std::string bare = fmt::format("a context takes {} on {} as vramfit counts", show(overhead.context), card.name);
  if (held < overhead.context + Bytes(overhead.kernels.count() / 2)) {
    return fmt::format("{}, without kernels: here {}", bare, by_how_much((held - overhead.context).count()));
  }
  const int libraries = nearest_libraries(held, overhead);
  const Bytes said = devices::total_of(overhead, libraries);
  const Bytes uncertainty = devices::uncertainty_of(overhead.uncertainty, said - overhead.context);
  std::string text = fmt::format("{}, and {} with {}: here {}", bare, show(said), with_libraries(libraries),
                                 by_how_much((held - said).count()));
  if (held > said + uncertainty) {
    text += "; NCCL, CUDA graphs or what extensions take past PyTorch may be in it";
  }
  return text;
}

std::string compare(Bytes held, const std::vector<Card>& cards) {
  if (cards.empty()) return "which card it is was not seen (--gpu says it)";
  if (cards.size() == 1) return compare(held, cards.front());
  std::vector<std::string> names;
  std::vector<Bytes> said;
  for (const Card& card : cards) {
    names.push_back(card.name);
    said.push_back(devices::total_of(devices::find_overhead(card, {}), 1));
  }
  const std::size_t named = std::min(names.size(), kMostNames);
  std::string list =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (names.size() > named) list += fmt::format(" and {} more", names.size() - named);
  const auto [least, most] = std::ranges::minmax(said);
  return fmt::format(
      "with kernels and one library vramfit counts {} to {} on the cards it may be: {} (--gpu says which)", show(least),
      show(most), list);
}

OutsidePyTorch read(const Case& given, const OomMessage& message) {
  const model::OomArithmetic& sums = message.arithmetic;
  OutsidePyTorch outside{.file = message.at.file,
                         .line = message.at.line,
                         .process = sums.own_process ? *sums.own_process : *message.this_process,
                         .reserved = *sums.reserved,
                         .held = model::held_outside_pytorch(message),
                         .cards = {},
                         .text = {}};
  const std::string figures = fmt::format("{} in use - {} of PyTorch's", show(outside.process), show(sums.reserved));
  if (!outside.held) {
    outside.text = figures + ": the figures don't add up, so they tell nothing of context and libraries";
    return outside;
  }
  const std::vector<Card> cards = cards_of(given, message);
  for (const Card& card : cards) outside.cards.push_back(card.name);
  outside.text = fmt::format("{} = {} of context and libraries; {}", figures, show(outside.held),
                             compare(outside.held->value, cards));
  return outside;
}

}  // namespace

std::vector<OutsidePyTorch> find_outside_pytorch(const Case& given) {
  std::vector<OutsidePyTorch> all;
  for (const OomMessage& message : given.texts.ooms) {
    if (!model::held_outside_pytorch(message) && !model::figures_disagree(message)) continue;
    OutsidePyTorch outside = read(given, message);
    const auto same = [&](const OutsidePyTorch& other) {
      return other.file == outside.file && other.process == outside.process && other.reserved == outside.reserved;
    };
    if (std::ranges::none_of(all, same)) all.push_back(std::move(outside));
  }
  return all;
}

}  // namespace vramfit::doctor
