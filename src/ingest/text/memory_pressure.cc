#include "ingest/text/memory_pressure.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

using Span = std::pair<std::size_t, std::size_t>;
using WordList = std::initializer_list<std::string_view>;

// Words in lower case; those of three letters count only as words of their own.
constexpr auto kPressed = std::to_array<std::string_view>({"memory", "vram", "ram", "显存", "内存", "gpu usage"});
constexpr std::size_t kReach = 64;  // bytes between the name of the memory and what is said of it

bool is_alone(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word(text[begin - 1])) && (end >= text.size() || !is_word(text[end]));
}

std::optional<Span> find_word(std::string_view low, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = low.find(word, from); at != kNowhere; at = low.find(word, at + 1)) {
    if (is_alone(low, at, at + word.size())) return Span{at, at + word.size()};
  }
  return std::nullopt;
}

std::optional<Span> find_any(std::string_view low, WordList words) {
  for (const std::string_view word : words) {
    if (const auto found = find_word(low, word)) return found;
  }
  return std::nullopt;
}

// The name of a memory within reach of `told`, in the same sentence.
std::optional<Span> joined_with_memory(std::string_view low, const Span& told) {
  for (const std::string_view name : kPressed) {
    for (std::size_t at = low.find(name); at != kNowhere; at = low.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if (static_cast<unsigned char>(name[0]) < 0x80 && !is_alone(low, at, end)) continue;
      const std::size_t first = std::min(at, told.first), last = std::max(end, told.second);
      const std::size_t from = std::min(end, told.second), until = std::max(at, told.first);
      if (until > from && (until - from > kReach || low.substr(from, until - from).contains(". "))) continue;
      return Span{first, last};
    }
  }
  return std::nullopt;
}

// "[Low GPU VRAM Warning]": low beside the name, in a line that calls itself a warning.
std::optional<Span> warns_of_little(std::string_view low) {
  if (!low.contains("warn")) return std::nullopt;
  for (auto word = find_word(low, "low"); word; word = find_word(low, "low", word->second)) {
    const auto joined = joined_with_memory(low, *word);
    if (joined && joined->second - joined->first <= 32) return joined;
  }
  return std::nullopt;
}

// "only have 412 MB VRAM remaining": with a figure, and of what is left, not of what is used.
std::optional<Span> counts_little(std::string_view low) {
  const auto only = find_any(low, {"only", "just"});
  const auto left = find_any(low, {"remaining", "left", "free", "available"});
  if (!only || !left || left->first < only->first || left->first - only->second > kReach) return std::nullopt;
  const std::string_view between = low.substr(only->second, left->first - only->second);
  if (std::ranges::none_of(between, is_digit)) return std::nullopt;
  return joined_with_memory(low, {only->first, left->second});
}

// "lower than the safe value of 1536 MB", "below the recommended 8 GB"
std::optional<Span> is_below_what_is_needed(std::string_view low) {
  if (find_any(low, {"usage", "used", "uses", "use"})) return std::nullopt;
  const auto below = find_any(low, {"lower than", "below", "less than", "smaller than", "under"});
  const auto needed = find_any(low, {"safe", "recommended", "required", "minimum", "needed"});
  if (!below || !needed || needed->first < below->second || needed->first - below->second > 16) return std::nullopt;
  return joined_with_memory(low, {below->first, needed->second});
}

// "goes to 100 %", "hits 100%", and what people say instead. A progress bar is none: "memory: 100%|####".
std::optional<Span> is_told_full(std::string_view low) {
  for (const std::string_view hundred : {"to 100", "at 100", "hits 100", "hit 100", "reaches 100", "reached 100"}) {
    const auto found = find_word(low, hundred);
    if (!found) continue;
    Cursor cursor(low.substr(found->second));
    cursor.skip_blanks();
    if (!cursor.take("%") || cursor.peek() == '|') continue;
    if (const auto joined = joined_with_memory(low, *found)) return joined;
  }
  for (const std::string_view full :
       {"fills up", "filled up", "filling up", "gets full", "goes full", "is completely full", "maxes out", "maxed out",
        "maxing out", "gets maxed", "is all used", "all used up", "eats all", "eats up", "goes through the roof"}) {
    const auto found = find_word(low, full);
    if (!found) continue;
    if (const auto joined = joined_with_memory(low, *found)) return joined;
  }
  return std::nullopt;
}

// What a user sees of an end: "vram spikes and then it crashes".
std::optional<Span> is_told_to_end(std::string_view low) {
  const auto end = find_any(low, {"dies", "crashes", "crashed", "freezes"});
  const auto high = find_any(low, {"spikes", "spike", "full", "high", "100%", "100 %", "climbs", "grows"});
  if (!end || !high) return std::nullopt;
  return joined_with_memory(low, {std::min(end->first, high->first), std::max(end->second, high->second)});
}

// Nothing of the kind happened: "make sure that the memory never fills up".
bool is_only_thought_of(std::string_view low, std::size_t at) {
  const std::string_view before = low.substr(0, at);
  return find_any(before,
                  {"if", "avoid", "avoids", "prevent", "prevents", "never", "unless", "until", "in case", "when"})
      .has_value();
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_memory_pressure(std::string_view low) {
  using Find = std::optional<Span> (*)(std::string_view);
  for (const Find find : {warns_of_little, counts_little, is_below_what_is_needed, is_told_full, is_told_to_end}) {
    const auto found = find(low);
    if (!found || is_only_thought_of(low, found->first)) continue;
    if (!find_any(low.substr(found->first, found->second - found->first), {"never", "not"})) return found;
  }
  return std::nullopt;
}

}  // namespace vramfit::ingest
