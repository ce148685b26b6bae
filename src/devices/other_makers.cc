#include "devices/other_makers.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "devices/card_names.h"

namespace vramfit::devices {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kMakers = {{{"amd", "AMD"},
                                                                                    {"radeon", "AMD"},
                                                                                    {"instinct", "AMD"},
                                                                                    {"firepro", "AMD"},
                                                                                    {"vega", "AMD"},
                                                                                    {"navi", "AMD"},
                                                                                    {"intel", "Intel"},
                                                                                    {"arc", "Intel"},
                                                                                    {"gaudi", "Intel"},
                                                                                    {"gaudi2", "Intel"},
                                                                                    {"gaudi3", "Intel"},
                                                                                    {"apple", "Apple"},
                                                                                    {"tpu", "Google"}}};

std::string_view digits_behind(std::string_view word, std::string_view front) {
  if (!word.starts_with(front)) return {};
  word.remove_prefix(front.size());
  return word.substr(0, std::min(word.find_first_not_of("0123456789"), word.size()));
}

// Numbers of AMD's cards behind "rx": "rx 3090" and "rx 5070" are NVIDIA's with a letter forgotten.
bool is_radeon(std::string_view number) {
  if (number.size() == 3) return number.front() == '4' || number.front() == '5';
  if (number.size() != 4) return false;
  return number.front() == '9' || (number.front() >= '5' && number.front() <= '7' && number[1] != '0');
}

// "m1 max", "m3max", "m2". Tesla M4 and M6 are NVIDIA's, and so is what has more digits.
bool is_apple(std::string_view word, std::string_view next) {
  const std::string_view number = digits_behind(word, "m");
  if (number.size() != 1) return false;
  const std::string_view rest = word.substr(2), edition = rest.empty() ? next : rest;
  if (edition == "max" || edition == "pro" || edition == "ultra") return true;
  return edition.empty() && number != "4" && number != "6";
}

}  // namespace

std::string_view other_maker_of(std::string_view spelling) {
  const std::vector<std::string> words = words_of(spelling);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto known = std::ranges::find(kMakers, word, &std::pair<std::string_view, std::string_view>::first);
    if (known != kMakers.end()) return known->second;
    if (digits_behind(word, "mi").size() >= 2 || digits_behind(word, "gfx").size() >= 3) return "AMD";
    if (i == 0 && is_apple(word, words.size() > 1 ? words[1] : "")) return "Apple";
    const bool is_split = word == "rx" && i + 1 < words.size();
    if (is_radeon(is_split ? digits_behind(words[i + 1], "") : digits_behind(word, "rx"))) return "AMD";
  }
  return {};
}

}  // namespace vramfit::devices
