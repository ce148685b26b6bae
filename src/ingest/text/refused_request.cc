#include "ingest/text/refused_request.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/line_kind.h"
#include "ingest/text/line_text.h"
#include "ingest/text/printed_size.h"
#include "ingest/text/sentence.h"

namespace vramfit::ingest {
namespace {

constexpr std::int64_t kLeastRequest = kMib;  // less is a number of something else
constexpr std::size_t kLongestRefusal = 400;  // bytes

constexpr auto kAsking = std::to_array<std::string_view>({"alloc", "reserv", "requested", "request of", "commit "});
constexpr auto kRefusing = std::to_array<std::string_view>(
    {"fail", "could not", "cannot", "can't", "couldn't", "unable", "refused", "not enough", "insufficient"});
constexpr auto kOfHost = std::to_array<std::string_view>({"cpu", "host", "system memory", "malloc("});

// "PxgCudaDeviceMemoryAllocator", "BufferPoolManager": a class that hands out memory, by its name in capitals and
// small.
std::string find_allocator_name(std::string_view text) {
  Cursor cursor(text);
  while (!cursor.at_end()) {
    const std::string_view word = cursor.take_while(is_word);
    const bool is_class = word.contains("Alloc") || word.contains("Pool") || word.contains("MemoryManager") ||
                          word.contains("BufferManager");
    const bool is_of_two = std::ranges::count_if(word, [](char letter) { return letter >= 'A' && letter <= 'Z'; }) >= 2;
    if (is_class && is_of_two && word.size() > 8) return std::string(word);
    cursor.take_while([](char letter) { return !is_word(letter); });
  }
  return {};
}

}  // namespace

std::optional<model::PrintedBytes> find_requested(std::string_view text) {
  if (!contains_any(text, kAsking)) return std::nullopt;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.'))) continue;
    const auto size = parse_size(text.substr(at), Rounding::kNearest);
    if (size && size->bytes.value.count() >= kLeastRequest) return size->bytes;
    while (at + 1 < text.size() && is_number_letter(text[at + 1])) ++at;
  }
  return std::nullopt;
}

bool refuses_an_amount(std::string_view text) {
  if (!contains_any(text, kRefusing) && !base::says_out_of_memory(text)) return false;
  if (contains_any(text, {"tried to allocate", "not a failure", "skipping tactic"})) return false;
  return !is_code(text) && find_requested(text).has_value();
}

std::optional<model::ForeignDump> parse_refused_request(std::string_view text) {
  if (!refuses_an_amount(text)) return std::nullopt;
  const auto requested = find_requested(text);
  model::ForeignDump dump{.at = {},
                          .speaker = {},
                          .program = find_allocator_name(text),
                          .kind = model::ForeignKind::kRefused,
                          .message = cut_text(trim(text), kLongestRefusal),
                          .sizes = {},
                          .numbers = {}};
  if (dump.program.empty()) return std::nullopt;
  if (contains_any(text, kOfHost) && !contains_ignoring_case(text, "device")) return std::nullopt;
  dump.sizes.push_back({"requested", *requested});
  return dump;
}

}  // namespace vramfit::ingest
