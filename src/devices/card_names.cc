#include "devices/card_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace vramfit::devices {
namespace {

// Words that makers and shops put in front; no two cards differ by them alone.
constexpr std::array<std::string_view, 8> kFillers = {"nvidia", "geforce", "tesla",  "graphics",
                                                      "gpu",    "card",    "design", "with"};
// Other words for what drivers call a Laptop GPU.
constexpr std::array<std::string_view, 2> kLaptops = {"notebook", "mobile"};
constexpr std::string_view kLaptop = "laptop";
constexpr std::array<std::string_view, 3> kGluedFillers = {"nvidia", "geforce", "tesla"};
constexpr std::array<std::string_view, 2> kGluedSeries = {"gtx", "rtx"};
// Longer ones first: "hbm2e" is not "hbm2" and an "e".
constexpr std::array<std::string_view, 13> kForms = {"pcie", "sxm2",  "sxm3", "sxm4",  "sxm5", "sxm6", "sxm",
                                                     "nvl",  "hbm2e", "hbm2", "hbm3e", "hbm3", "pci"};
constexpr std::array<std::string_view, 4> kSeries = {"gtx", "rtx", "quadro", "pro"};
constexpr std::array<std::string_view, 3> kGenerations = {"ada", "generation", "blackwell"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_digit(std::string_view text) { return std::ranges::any_of(text, is_digit); }

// The number of a text that is nothing but a number of up to three digits, as a size in GB is.
std::optional<int> small_number(std::string_view text) {
  if (text.empty() || text.size() > 3 || text.front() == '0' || !std::ranges::all_of(text, is_digit)) return {};
  return std::stoi(std::string(text));
}

bool is_unit(std::string_view text) { return text == "gb" || text == "gib" || text == "g"; }

std::optional<int> size_of_word(std::string_view word) {
  const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
  return is_unit(word.substr(digits)) ? small_number(word.substr(0, digits)) : std::nullopt;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += word;
  return all;
}

// "rtx3060" is two words, "geforcertx3060" is too.
void add_word(std::vector<std::string>& words, std::string word) {
  for (const std::string_view filler : kGluedFillers) {
    if (word.starts_with(filler)) word.erase(0, filler.size());
  }
  for (const std::string_view series : kGluedSeries) {
    if (word.size() <= series.size() || !word.starts_with(series)) continue;
    words.emplace_back(series);
    word.erase(0, series.size());
  }
  if (is_one_of(kLaptops, word)) word = kLaptop;
  if (!word.empty() && !is_one_of(kFillers, word)) words.push_back(std::move(word));
}

// "laptop 5080" is "5080 laptop".
void put_laptop_behind_its_number(std::vector<std::string>& words) {
  const auto number = std::ranges::find_if(words, has_digit);
  const auto laptop = std::find(words.begin(), number, kLaptop);
  if (laptop != number && number != words.end()) std::rotate(laptop, laptop + 1, number + 1);
}

void add_size(CardName& name, int size) {
  name.has_two_sizes = name.has_two_sizes || (name.size_gb && *name.size_gb != size);
  name.size_gb = size;
}

// Whether the forms and the size that were typed are the card's.
bool agrees(const CardNames& card, const CardName& typed) {
  const auto is_its_form = [&](const std::string& form) { return card.forms.contains(form); };
  if (typed.has_two_sizes || !std::ranges::all_of(typed.forms, is_its_form)) return false;
  return !typed.size_gb || is_size_of(*typed.size_gb, card.card->memory);
}

// The rest of a glued name, "sxm480gb" of "a100sxm480gb": forms and sizes only. A size begins with no 0: "a10080gb" is
// no A10.
std::optional<CardName> parse_glued(std::string_view rest) {
  CardName name;
  while (!rest.empty()) {
    const auto form = std::ranges::find_if(kForms, [&](std::string_view word) { return rest.starts_with(word); });
    if (form != kForms.end()) {
      name.forms.emplace(*form);
      rest.remove_prefix(form->size());
      continue;
    }
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    const auto size = small_number(rest.substr(0, digits));
    rest.remove_prefix(digits);
    const std::size_t unit = rest.starts_with("gib") ? 3 : rest.starts_with("gb") ? 2 : 0;
    if (!size || unit == 0) return std::nullopt;
    add_size(name, *size);
    rest.remove_prefix(unit);
  }
  return name;
}

bool matches_glued(const CardNames& card, const std::string& typed) {
  return std::ranges::any_of(card.names, [&](const CardName& name) {
    const std::string model = name.joined_model();
    if (!typed.starts_with(model) || typed.size() == model.size()) return false;
    const auto rest = parse_glued(std::string_view(typed).substr(model.size()));
    return rest && agrees(card, *rest);
  });
}

// "8000" and "rtx8000" of {quadro, rtx, 8000}; "rtx6000", "6000ada" and "6000" of {rtx, 6000, ada}.
bool is_shortened(std::vector<std::string> model, const std::string& typed) {
  const auto ends_match = [&] { return joined(model) == typed; };
  for (;;) {
    std::vector<std::string> kept = model;
    while (!model.empty() && is_one_of(kGenerations, model.back())) {
      model.pop_back();
      if (ends_match()) return true;
    }
    model = std::move(kept);
    if (model.size() < 2 || !is_one_of(kSeries, model.front())) return false;
    model.erase(model.begin());
    if (ends_match()) return true;
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view spelling) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : spelling) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else {
      add_word(words, std::exchange(word, {}));
    }
  }
  add_word(words, std::move(word));
  put_laptop_behind_its_number(words);
  return words;
}

std::string normalised(std::string_view spelling) {
  std::string all;
  for (const std::string& word : words_of(spelling)) {
    const auto size = size_of_word(word);
    all += size ? std::to_string(*size) + "gb" : is_unit(word) && !all.empty() && is_digit(all.back()) ? "gb" : word;
  }
  return all;
}

std::string CardName::joined_model() const { return joined(model); }

std::string CardName::joined_model_without_generation() const {
  std::vector<std::string> words = model;
  std::erase_if(words, [](const std::string& word) { return is_one_of(kGenerations, word); });
  return joined(words);
}

CardName parse_card_name(std::string_view spelling) {
  CardName name;
  const std::vector<std::string> words = words_of(spelling);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto number = small_number(words[i]);
    // "RTX 3090 24 GB", and "V100-32": a number after a model that has its own.
    const bool unit_follows = i + 1 < words.size() && is_unit(words[i + 1]);
    if (is_one_of(kForms, words[i])) {
      name.forms.insert(words[i]);
    } else if (const auto size = size_of_word(words[i])) {
      add_size(name, *size);
    } else if (number && (unit_follows || has_digit(name.joined_model()))) {
      add_size(name, *number);
      if (unit_follows) ++i;
    } else {
      name.model.push_back(words[i]);
    }
  }
  return name;
}

bool is_size_of(int size_gb, base::Bytes memory) {
  const double gib = static_cast<double>(memory.count()) / static_cast<double>(base::Bytes::gib(1).count());
  // What ECC and the driver keep is up to a tenth; 15 GB is what Colab calls its T4.
  return size_gb >= gib - 0.5 && size_gb <= gib * 1.1;
}

CardNames::CardNames(const model::Card& of) : card(&of) {
  std::vector<std::string> spellings = {of.key, of.name};
  spellings.insert(spellings.end(), of.aliases.begin(), of.aliases.end());
  for (const std::string& spelling : spellings) {
    exact.push_back(normalised(spelling));
    names.push_back(parse_card_name(spelling));
    for (const std::string& form : names.back().forms) {
      forms.insert(form);
      if (form.starts_with("sxm")) forms.insert("sxm");
    }
  }
}

NameMatch match_name(const CardNames& card, std::string_view typed) {
  const std::string whole = normalised(typed);
  if (whole.empty()) return NameMatch::kNone;
  const CardName name = parse_card_name(typed);
  // "RTX 5060 Ti" is what the driver calls a card that comes in two sizes, and its key says which it is.
  const bool leaves_size_open = !name.size_gb && card.names.front().size_gb && !whole.ends_with("gb");
  const bool is_its_name = std::ranges::find(card.exact, whole) != card.exact.end();
  if (is_its_name) return leaves_size_open ? NameMatch::kModel : NameMatch::kExact;
  const std::string model = name.joined_model();
  const auto is_same = [&](const CardName& its) { return its.joined_model() == model; };
  if (std::ranges::any_of(card.names, is_same) && agrees(card, name)) {
    return name.size_gb || !name.forms.empty() ? NameMatch::kAgrees : NameMatch::kModel;
  }
  if (matches_glued(card, whole)) return NameMatch::kAgrees;
  const auto is_short = [&](const CardName& its) { return is_shortened(its.model, model); };
  return std::ranges::any_of(card.names, is_short) && agrees(card, name) ? NameMatch::kShortened : NameMatch::kNone;
}

}  // namespace vramfit::devices
