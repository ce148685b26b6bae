#include "devices/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <utility>

namespace vramfit::devices {

using base::ErrorCode;
using base::Result;
using model::Card;

namespace {

// Words that makers and shops put in front; no two cards differ by them alone.
constexpr std::array<std::string_view, 5> kFillers = {"nvidia", "geforce", "tesla", "graphics", "gpu"};

std::vector<std::string> words_of(std::string_view spelling) {
  std::vector<std::string> words(1);
  for (const char c : spelling) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.empty(); });
  return words;
}

std::vector<std::string> spellings(const Card& card) {
  std::vector<std::string> all = {normalised(card.key), normalised(card.name)};
  for (const std::string& alias : card.aliases) all.push_back(normalised(alias));
  return all;
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i] == right[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({replaced, row[j] + 1, row[j + 1] + 1}));
    }
  }
  return row.back();
}

std::vector<std::string> nearest_keys(const std::vector<Card>& catalogue, const std::string& wanted) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const Card& card : catalogue) {
    std::size_t best = wanted.size() + 100;
    for (const std::string& spelling : spellings(card)) {
      const bool within = spelling.find(wanted) != std::string::npos;
      best = std::min(best, within ? 0 : edit_distance(spelling, wanted));
    }
    ranked.emplace_back(best, card.key);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> keys;
  for (const auto& [distance, key] : ranked) {
    if (keys.size() < 4) keys.push_back(key);
  }
  return keys;
}

// "rtx3080" must find "rtx3080-12gb" but not "rtx3080ti": what follows is a size, a form factor or nothing.
bool is_variant_of(const std::string& spelling, const std::string& wanted) {
  if (!spelling.starts_with(wanted)) return false;
  std::string_view rest = std::string_view(spelling).substr(wanted.size());
  for (const std::string_view form : {"pcie", "sxm2", "sxm3", "sxm4", "sxm5", "sxm", "nvl", "hbm3"}) {
    if (rest.starts_with(form)) rest.remove_prefix(form.size());
  }
  std::size_t digits = 0;
  while (digits < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits]))) ++digits;
  return rest.empty() || (digits > 0 && rest.substr(digits) == "gb");
}

}  // namespace

std::string normalised(std::string_view spelling) {
  std::string joined;
  for (const std::string& word : words_of(spelling)) {
    if (std::find(kFillers.begin(), kFillers.end(), word) == kFillers.end()) joined += word;
  }
  // "40gib" and "40g" are "40gb"
  if (joined.ends_with("gib")) joined.erase(joined.size() - 2, 1);
  const bool bare =
      joined.size() > 1 && joined.back() == 'g' && std::isdigit(static_cast<unsigned char>(joined[joined.size() - 2]));
  return bare ? joined + "b" : joined;
}

bool is_card_file(std::string_view name) { return name.ends_with(".toml"); }

namespace {

Result<CardRequest> parse_one(std::string_view text) {
  CardRequest request;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    const auto total = base::parse_bytes(text.substr(colon + 1));
    if (!total || total->count() == 0) {
      return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is not a memory size", text.substr(colon + 1)), "--gpu",
                        "rtx3090:20GiB");
    }
    request.total = *total;
    text = text.substr(0, colon);
  }
  std::size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits]))) ++digits;
  if (digits > 0 && digits < 4 && digits + 1 < text.size() &&
      (text[digits] == 'x' || text[digits] == 'X' || text[digits] == '*')) {
    request.count = std::stoi(std::string(text.substr(0, digits)));
    text = text.substr(digits + 1);
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  request.name = std::string(text);
  if (request.name.empty() || request.count < 1) {
    return base::fail(ErrorCode::kUsage, "a card needs a name", "--gpu",
                      "--gpu \"GTX 1070\", --gpu 8xV100-32GB; `vramfit gpus` lists them");
  }
  return request;
}

}  // namespace

Result<std::vector<CardRequest>> parse_gpu_option(std::string_view option) {
  std::vector<CardRequest> requests;
  int cards = 0;
  for (std::size_t start = 0; start <= option.size();) {
    const std::size_t end = std::min(option.find(',', start), option.size());
    auto request = parse_one(option.substr(start, end - start));
    if (!request) return std::unexpected(request.error());
    cards += request->count;
    requests.push_back(std::move(*request));
    start = end + 1;
  }
  constexpr int kMostCards = 16;  // VF_MAX_CARDS
  if (cards > kMostCards) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("{} cards are more than a virtual machine can have ({})", cards, kMostCards),
                      "--gpu");
  }
  return requests;
}

Result<Match> find_card(const std::vector<Card>& catalogue, std::string_view name) {
  const std::string wanted = normalised(name);
  std::vector<const Card*> exact, variants;
  for (const Card& card : catalogue) {
    const auto all = spellings(card);
    const auto matches = [&](const auto& test) { return std::any_of(all.begin(), all.end(), test); };
    if (matches([&](const std::string& spelling) { return spelling == wanted; })) exact.push_back(&card);
    if (matches([&](const std::string& spelling) { return is_variant_of(spelling, wanted); }))
      variants.push_back(&card);
  }
  const auto& candidates = exact.empty() ? variants : exact;
  if (wanted.empty() || candidates.empty()) {
    return base::fail(ErrorCode::kNotFound, fmt::format("no card is called \"{}\"", name), "--gpu",
                      fmt::format("{}; `vramfit gpus` lists all", fmt::join(nearest_keys(catalogue, wanted), ", ")));
  }
  const Card& smallest = **std::min_element(candidates.begin(), candidates.end(),
                                            [](const Card* a, const Card* b) { return a->memory < b->memory; });
  if (candidates.size() == 1) return Match{smallest, ""};
  std::vector<std::string> others;
  for (const Card* card : candidates) {
    if (card != &smallest) others.push_back(card->key);
  }
  return Match{smallest, fmt::format("\"{}\" is taken as {} ({}), the smallest; others: {}", name, smallest.key,
                                     to_string(smallest.memory), fmt::join(others, ", "))};
}

}  // namespace vramfit::devices
