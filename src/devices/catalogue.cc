#include "devices/catalogue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "base/edit_distance.h"
#include "base/letters.h"
#include "devices/card_names.h"
#include "devices/mig.h"
#include "devices/other_makers.h"

namespace vramfit::devices {

using base::ErrorCode;
using base::Result;
using model::Card;

namespace {

std::string with_memory(const Card& card) { return fmt::format("{} ({})", card.key, to_string(card.memory)); }

// "4O90": beside a digit the letter O was meant as the digit that looks like it.
std::string with_zeros(std::string name) {
  const auto is_number = [&](std::size_t at) {
    return at < name.size() && std::isdigit(static_cast<unsigned char>(name[at])) != 0;
  };
  for (std::size_t at = 0; at < name.size(); ++at) {
    if (name[at] == 'o' && (is_number(at + 1) || (at > 0 && is_number(at - 1)))) name[at] = '0';
  }
  return name;
}

// "4090" of "rtx4090laptop".
std::string_view number_of(std::string_view name) {
  const std::size_t start = std::min(name.find_first_of("0123456789"), name.size());
  const std::size_t end = std::min(name.find_first_not_of("0123456789", start), name.size());
  return name.substr(start, end - start);
}

constexpr std::size_t kLongestName = 1000;

// A card's number says more of it than the letters around it: of "40900" the RTX 4090 is meant, not the P4000, which
// has fewer other letters. What a mistyped number begins with was mostly meant.
struct Nearness {
  bool otherwise = false;  // than by digits of the number that were swapped
  std::size_t number = 0, begins_otherwise = 0, letters = 0;
  friend auto operator<=>(const Nearness&, const Nearness&) = default;
};

// "4009" of "4090".
bool has_swapped_digits(std::string_view known, std::string_view typed) {
  return known.size() == typed.size() && std::ranges::is_permutation(known, typed) &&
         base::edit_distance(known, typed) == 1;
}

Nearness nearness(const std::string& spelling, const std::string& wanted) {
  if (spelling.find(wanted) != std::string::npos) return {};
  const std::string_view known = number_of(spelling), typed = number_of(wanted);
  const std::size_t letters = base::edit_distance(spelling, wanted);
  if (typed.empty()) return {.otherwise = true, .letters = letters};
  const auto differ = std::ranges::mismatch(known, typed);
  return {!has_swapped_digits(known, typed), base::edit_distance(known, typed),
          static_cast<std::size_t>(typed.end() - differ.in2), letters};
}

// The cards with the nearest names: nothing shorter than what was typed is nearer than a name that holds it.
std::vector<std::string> nearest_cards(const std::vector<Card>& catalogue, const std::string& wanted) {
  std::vector<std::pair<Nearness, std::string>> ranked;
  for (const Card& card : catalogue) {
    Nearness best{.otherwise = true, .number = kLongestName};
    for (const std::string& spelling : CardNames(card).exact) best = std::min(best, nearness(spelling, wanted));
    ranked.emplace_back(best, with_memory(card));
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> keys;
  for (const auto& [distance, key] : ranked) {
    if (keys.size() < 4) keys.push_back(key);
  }
  return keys;
}

base::Error unknown_card(const std::vector<Card>& catalogue, std::string_view name) {
  const CardName typed = parse_card_name(name);
  // The model is known, with another size: the name needs no size then.
  const Card* model = nullptr;
  NameMatch best = NameMatch::kNone;
  for (const Card& card : catalogue) {
    const NameMatch closeness = match_name(CardNames(card), typed.joined_model());
    if (!typed.size_gb || closeness > best || closeness == NameMatch::kNone) continue;
    best = closeness;
    model = &card;
  }
  if (model != nullptr) {
    return {
        ErrorCode::kNotFound, fmt::format("no {} with {} GB is known", model->key, *typed.size_gb), "--gpu",
        fmt::format("{}, or {}:{}GiB for one with that much memory", with_memory(*model), model->key, *typed.size_gb)};
  }
  if (const std::string_view maker = other_maker_of(name); !maker.empty()) {
    return {ErrorCode::kUnsupported,
            fmt::format("\"{}\" is a card of {}, and only NVIDIA's cards are emulated", name, maker), "--gpu",
            "`vramfit doctor` reads its logs; a card of NVIDIA can be given another size: rtx3090:20GiB"};
  }
  // An instance alone, as nvidia-smi lists it: the card that it was cut from is not told.
  if (const auto alone = find_slice_name("x:" + std::string(name)); alone && alone->card == "x") {
    const auto has_it =
        std::ranges::find_if(catalogue, [&](const Card& card) { return find_profile(card, alone->profile); });
    if (has_it != catalogue.end()) {
      return {ErrorCode::kNotFound, fmt::format("\"{}\" is a MIG instance, and does not say of which card", name),
              "--gpu", fmt::format("the card before it: {}:{}", has_it->key, base::lowered(name))};
    }
  }
  return {ErrorCode::kNotFound, fmt::format("no card is called \"{}\"", name), "--gpu",
          fmt::format("the nearest names: {}; `vramfit gpus` lists all, and a TOML file describes another",
                      fmt::join(nearest_cards(catalogue, with_zeros(normalised(name))), ", "))};
}

std::vector<std::string> keys_but(const std::vector<const Card*>& cards, const Card* left_out) {
  std::vector<std::string> keys;
  for (const Card* card : cards) {
    if (card != left_out) keys.push_back(with_memory(*card));
  }
  return keys;
}

// The part of a card that was left open by a name that only this card agrees with.
struct LeftOpen {
  bool form = false;                // the model comes in another form too: "H100 96GB" does not say NVL
  bool edition = false;             // its full name goes on: "RTX PRO 6000" is a Workstation Edition
  std::vector<const Card*> others;  // of the size that was said
};

// Nothing where its key or its full name was typed.
LeftOpen find_left_open(const std::vector<Card>& catalogue, const Card& taken, std::string_view name) {
  LeftOpen open;
  if (base::lowered(name) == taken.key || normalised(name) == normalised(taken.name)) return open;
  const CardName typed = parse_card_name(name), full = parse_card_name(taken.name);
  const CardNames its(taken);
  open.edition = full.joined_model_without_generation().size() > typed.joined_model_without_generation().size() &&
                 full.joined_model().starts_with(typed.joined_model());
  for (const Card& card : catalogue) {
    const CardNames other(card);
    const bool is_same_model = std::ranges::any_of(other.names, [&](const CardName& one) {
      return !typed.model.empty() && one.joined_model() == typed.joined_model();
    });
    if (&card == &taken || !is_same_model || !typed.forms.empty() || its.forms.empty() || its.forms == other.forms) {
      continue;
    }
    open.form = true;
    if (!typed.size_gb || is_size_of(*typed.size_gb, card.memory)) open.others.push_back(&card);
  }
  return open;
}

}  // namespace

bool is_card_file(std::string_view name) { return name.ends_with(".toml"); }

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Takes "x", "X", "*" or the sign of multiplication off the front.
bool take_times(std::string_view& text) {
  for (const std::string_view sign : {"x", "X", "*", "\u00d7"}) {
    if (!text.starts_with(sign)) continue;
    text.remove_prefix(sign.size());
    return true;
  }
  return false;
}

// Takes "8x" or "8 x " off the front.
std::optional<int> take_count_before(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 3) return std::nullopt;
  std::string_view rest = trimmed(text.substr(digits));
  if (!take_times(rest) || trimmed(rest).empty()) return std::nullopt;
  const int count = std::stoi(std::string(text.substr(0, digits)));
  text = trimmed(rest);
  return count;
}

// Takes " x 8" or "x8" off the end.
std::optional<int> take_count_after(std::string_view& text) {
  std::size_t start = text.size();
  while (start > 0 && is_digit(text[start - 1])) --start;
  const std::string_view digits = text.substr(start);
  if (digits.empty() || digits.size() > 3) return std::nullopt;
  const std::string_view before = trimmed(text.substr(0, start));
  for (const std::string_view sign : {"x", "X", "*", "\u00d7"}) {
    if (!before.ends_with(sign) || before.size() == sign.size()) continue;
    // The x of "gtx 970" and of "mx450" belongs to a series; that of "a10gx8" stands behind a model.
    const std::string_view name = before.substr(0, before.size() - sign.size());
    const std::string_view word = name.substr(name.find_last_of(' ') + 1);
    if (std::ranges::any_of(word, is_letter) && !std::ranges::any_of(word, is_digit)) continue;
    text = trimmed(before.substr(0, before.size() - sign.size()));
    return std::stoi(std::string(digits));
  }
  return std::nullopt;
}

Result<base::Bytes> parse_total(std::string_view text) {
  constexpr base::Bytes kLeast = base::Bytes::mib(64);
  const auto total = base::parse_bytes(text);
  if (total && *total >= kLeast) return *total;
  return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is not the memory of a card", text), "--gpu",
                    "a number and its unit: rtx3090:20GiB");
}

Result<CardRequest> parse_one(std::string_view text) {
  CardRequest request;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos && !find_slice_name(text)) {
    const auto total = parse_total(trimmed(text.substr(colon + 1)));
    if (!total) return std::unexpected(total.error());
    request.total = *total;
    const std::string size = base::lowered(trimmed(text.substr(colon + 1)));
    if (size.size() == 2 && is_digit(size[0]) && size[1] == 'g') request.slice = size;
    text = text.substr(0, colon);
  }
  text = trimmed(text);
  if (!is_card_file(text)) {
    const auto before = take_count_before(text);
    request.count = before ? *before : take_count_after(text).value_or(1);
  } else if (const auto count = take_count_before(text)) {
    request.count = *count;
  }
  request.name = std::string(text);
  if (request.name.empty() || request.count < 1) {
    return base::fail(ErrorCode::kUsage, "a card needs a name", "--gpu",
                      "--gpu \"GTX 1070\", --gpu 8xV100-32GB; `vramfit gpus` lists them");
  }
  return request;
}

}  // namespace

Result<void> check_size(const CardRequest& request, const Card& card) {
  std::vector<std::string> profiles;
  for (const model::MigProfile& profile : card.mig) {
    const bool is_begun = !request.slice.empty() && profile.name.starts_with(request.slice + ".");
    if (is_begun) profiles.push_back(fmt::format("{}:{}", card.key, profile.name));
  }
  if (profiles.empty()) return {};
  return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is no whole MIG profile", request.slice), "--gpu",
                    fmt::format("{}; for a card with that much memory {}:{}iB", fmt::join(profiles, ", "), card.key,
                                std::string{request.slice[0], 'G'}));
}

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

namespace {

const Card& smallest_of(const std::vector<const Card*>& cards) {
  return **std::ranges::min_element(cards, [](const Card* a, const Card* b) { return a->memory < b->memory; });
}

// "GTX 1060" is the 6 GB card's own name, and is in the name of the 3 GB card too. Where drivers call two sizes the
// same, as the RTX 3060, it is the one that our key is of.
const Card* only_card_called(const std::vector<const Card*>& cards, std::string_view name) {
  const std::string whole = normalised(name);
  const auto keyed = std::ranges::find_if(cards, [&](const Card* card) { return normalised(card->key) == whole; });
  if (keyed != cards.end()) return *keyed;
  const auto is_called = [&](const Card* card) {
    const std::vector<std::string> exact = CardNames(*card).exact;
    return std::ranges::find(exact, whole) != exact.end();
  };
  const auto found = std::ranges::find_if(cards, is_called);
  return std::ranges::count_if(cards, is_called) == 1 ? *found : nullptr;
}

// The name of the model that all these cards are, in several sizes: "rtx3080" of the RTX 3080 with 10 GB and with 12.
std::optional<std::string> shared_model(const std::vector<const Card*>& cards) {
  for (const CardName& name : CardNames(*cards.front()).names) {
    const auto has_it = [&](const Card* card) {
      return std::ranges::any_of(CardNames(*card).names,
                                 [&](const CardName& other) { return other.joined_model() == name.joined_model(); });
    };
    if (std::ranges::all_of(cards, has_it)) return name.joined_model();
  }
  return std::nullopt;
}

Match said(const Card& card, std::string_view name, std::string_view why, const std::vector<const Card*>& others) {
  std::string note = fmt::format("\"{}\" is taken as {}{}", name, with_memory(card), why);
  if (!others.empty()) note += fmt::format("; others: {}", fmt::join(keys_but(others, &card), ", "));
  return {card, std::move(note)};
}

Match take_only(const std::vector<Card>& catalogue, const Card& card, NameMatch closeness, std::string_view name) {
  const bool is_said = closeness == NameMatch::kExact || closeness == NameMatch::kAgrees;
  const LeftOpen open = is_said ? find_left_open(catalogue, card, name) : LeftOpen();
  if (is_said && !open.form && !open.edition) return {card, ""};
  return said(card, name, open.form || open.edition ? fmt::format(" ({})", card.name) : "", open.others);
}

Result<Match> find_whole_card(const std::vector<Card>& catalogue, std::string_view name) {
  std::map<NameMatch, std::vector<const Card*>> met;
  for (const Card& card : catalogue) met[match_name(CardNames(card), name)].push_back(&card);
  met.erase(NameMatch::kNone);
  if (met.empty()) return std::unexpected(unknown_card(catalogue, name));
  const auto& [closeness, cards] = *met.begin();
  if (cards.size() == 1) return take_only(catalogue, *cards.front(), closeness, name);
  if (closeness != NameMatch::kShortened) {
    if (const Card* called = only_card_called(cards, name)) return said(*called, name, "", cards);
    return said(smallest_of(cards), name, ", the smallest", cards);
  }
  const auto model = shared_model(cards);
  if (!model) {
    return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is the name of several cards", name), "--gpu",
                      fmt::format("say which: {}", fmt::join(keys_but(cards, nullptr), ", ")));
  }
  const Card* called = only_card_called(cards, *model);
  return called != nullptr ? said(*called, name, "", cards) : said(smallest_of(cards), name, ", the smallest", cards);
}

// A model whose name says no size is the card of it that has such instances.
Result<Match> find_slice(const std::vector<Card>& catalogue, const SliceName& slice) {
  auto whole = find_whole_card(catalogue, slice.card);
  if (!whole) return whole;
  if (find_profile(whole->card, slice.profile) == nullptr) {
    std::vector<Card> cut;
    std::ranges::copy_if(catalogue, std::back_inserter(cut), [&](const Card& card) {
      return find_profile(card, slice.profile) != nullptr &&
             match_name(CardNames(card), slice.card) != NameMatch::kNone;
    });
    auto other = find_whole_card(cut, slice.card);
    if (!other) return std::unexpected(no_such_profile(whole->card, slice.profile));
    whole = std::move(other);
  }
  return Match{cut_slice(whole->card, *find_profile(whole->card, slice.profile), slice.profile), whole->note};
}

}  // namespace

Result<Match> find_card(const std::vector<Card>& catalogue, std::string_view name) {
  const auto slice = find_slice_name(name);
  return slice ? find_slice(catalogue, *slice) : find_whole_card(catalogue, name);
}

}  // namespace vramfit::devices
