#include "allocator/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "base/nearest_word.h"
#include "base/parse_number.h"

namespace vramfit::allocator {
namespace {

using base::ErrorCode;

constexpr std::uint64_t kMib = 1 << 20;

struct Pair {
  std::string key;
  std::vector<std::string> values;  // one, or those of a [list]
};

std::unexpected<base::Error> refuse(std::string_view key, std::string_view why) {
  return base::fail(ErrorCode::kUsage, fmt::format("{}: {}", key, why), "allocator settings");
}

// "key:value,key:[a:1,b:2]", blanks ignored.
base::Result<std::vector<Pair>> split_pairs(std::string_view text) {
  std::string dense;
  std::copy_if(text.begin(), text.end(), std::back_inserter(dense),
               [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; });
  std::vector<Pair> pairs;
  std::size_t at = 0;
  while (at < dense.size()) {
    if (dense[at] == ',') {
      ++at;
      continue;
    }
    const std::size_t colon = dense.find(':', at);
    if (colon == std::string::npos) return refuse(dense.substr(at), "a value is missing");
    Pair pair{dense.substr(at, colon - at), {}};
    at = colon + 1;
    const bool is_list = at < dense.size() && dense[at] == '[';
    const std::size_t end = is_list ? dense.find(']', at) : std::min(dense.find(',', at), dense.size());
    if (end == std::string::npos) return refuse(pair.key, "the ] of its list is missing");
    std::string inner = dense.substr(at + (is_list ? 1 : 0), end - at - (is_list ? 1 : 0));
    for (std::size_t from = 0; from <= inner.size();) {
      const std::size_t comma = std::min(inner.find(',', from), inner.size());
      pair.values.push_back(inner.substr(from, comma - from));
      from = comma + 1;
    }
    pairs.push_back(std::move(pair));
    at = end + (is_list ? 1 : 0);
  }
  return pairs;
}

base::Result<bool> boolean(const Pair& pair) {
  if (pair.values[0] == "True") return true;
  if (pair.values[0] == "False") return false;
  return refuse(pair.key, "write True or False");
}

base::Result<std::uint64_t> mebibytes(const Pair& pair, std::uint64_t least) {
  const auto value = base::parse_number<std::uint64_t>(pair.values[0]);
  if (!value || *value > kUnlimited / kMib / 2) return refuse(pair.key, "a number of MiB is missing");
  if (*value < least) return refuse(pair.key, fmt::format("PyTorch refuses less than {} MiB", least));
  return *value * kMib;
}

bool is_division(std::uint64_t value) { return value == 0 || std::has_single_bit(value); }

// parseRoundUpPower2Divisions: the first key also fills every cell below it, '>' all above the last key's cell.
base::Result<std::array<std::uint32_t, 16>> divisions(const Pair& pair, const Rules& rules) {
  std::array<std::uint32_t, 16> cells{};
  std::size_t last = 0;
  bool is_first = true;
  for (const std::string& item : pair.values) {
    const std::size_t colon = item.find(':');
    const auto value = base::parse_number<std::uint32_t>(colon == std::string::npos ? item : item.substr(colon + 1));
    if (!value || !is_division(*value)) return refuse(pair.key, "divisions are powers of two");
    if (colon == std::string::npos) {
      cells.fill(*value);
      continue;
    }
    if (item.substr(0, colon) == ">") {
      const std::size_t from = last + (rules.fills_above_last_key ? 1 : 0);
      std::fill(cells.begin() + static_cast<std::ptrdiff_t>(from), cells.end(), *value);
      continue;
    }
    const auto key = base::parse_number<std::uint64_t>(item.substr(0, colon));
    if (!key || !std::has_single_bit(*key)) return refuse(pair.key, "sizes are powers of two, in MiB");
    const auto cell = std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(*key)), cells.size() - 1);
    if (is_first) {
      std::fill(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(cell), *value);
      is_first = false;
    }
    cells[cell] = *value;
    last = cell;
  }
  return cells;
}

// One key each. `in` says whether the release knows the key at all.
struct Key {
  std::string_view name;
  bool Rules::*in;  // nullptr: every release
  std::function<base::Result<void>(Settings&, const Pair&, const Rules&)> apply;
};

template <class T>
base::Result<void> store(T& place, const base::Result<T>& value) {
  if (!value) return std::unexpected(value.error());
  place = *value;
  return {};
}

base::Result<void> apply_threshold(Settings& settings, const Pair& pair, const Rules&) {
  const auto value = base::parse_number<double>(pair.values[0]);
  if (!value || *value <= 0 || *value >= 1) return refuse(pair.key, "write a number between 0 and 1, neither included");
  settings.garbage_collection_threshold = *value;
  return {};
}

base::Result<void> apply_fraction(Settings& settings, const Pair& pair, const Rules&) {
  const auto value = base::parse_number<double>(pair.values[0]);
  if (!value || *value < 0 || *value > 1) return refuse(pair.key, "write a number from 0 to 1");
  settings.memory_fraction = *value;
  settings.has_memory_fraction = true;
  return {};
}

base::Result<void> apply_backend(Settings& settings, const Pair& pair, const Rules&) {
  if (pair.values[0] != "native" && pair.values[0] != "cudaMallocAsync") {
    return refuse(pair.key, "native or cudaMallocAsync");
  }
  settings.is_native = pair.values[0] == "native";
  return {};
}

// Refuses a bad value that PyTorch looks at, and that has no part in which block is taken.
template <class T>
base::Result<void> refuse_other(const base::Result<T>& value) {
  if (!value) return std::unexpected(value.error());
  return {};
}

base::Result<void> ignore_value(Settings&, const Pair&, const Rules&) {
  return {};
}  // has no part in which block is taken

const std::vector<Key>& keys() {
  using S = Settings;
  static const std::vector<Key> kKeys = {
      {"expandable_segments", nullptr,
       [](S& s, const Pair& p, const Rules&) { return store(s.expandable_segments, boolean(p)); }},
      {"max_split_size_mb", nullptr,
       [](S& s, const Pair& p, const Rules& r) {
         return store(s.max_split_bytes, mebibytes(p, r.splits_from_twenty ? 20 : 21));
       }},
      {"max_non_split_rounding_mb", &Rules::has_non_split_rounding_setting,
       [](S& s, const Pair& p, const Rules&) { return store(s.max_non_split_rounding_bytes, mebibytes(p, 20)); }},
      {"large_segment_size_mb", &Rules::has_large_segment_setting,
       [](S& s, const Pair& p, const Rules&) { return store(s.large_segment_bytes, mebibytes(p, 20)); }},
      {"roundup_power2_divisions", nullptr,
       [](S& s, const Pair& p, const Rules& r) { return store(s.roundup_power2_divisions, divisions(p, r)); }},
      {"garbage_collection_threshold", nullptr, apply_threshold},
      {"per_process_memory_fraction", &Rules::has_fraction_setting, apply_fraction},
      {"throw_on_cudamalloc_oom", &Rules::has_oom_rejection,
       [](S& s, const Pair& p, const Rules&) { return store(s.throw_on_oom, boolean(p)); }},
      {"graph_capture_record_stream_reuse", nullptr,
       [](S&, const Pair& p, const Rules&) { return refuse_other(boolean(p)); }},
      {"pinned_reserve_segment_size_mb", nullptr,
       [](S&, const Pair& p, const Rules&) { return refuse_other(mebibytes(p, 0)); }},
      {"backend", nullptr, apply_backend},
      {"release_lock_on_cudamalloc", nullptr, ignore_value},
      {"release_lock_on_hipmalloc", nullptr, ignore_value},
      {"pinned_use_cuda_host_register", nullptr, ignore_value},
      {"pinned_use_hip_host_register", nullptr, ignore_value},
      {"pinned_num_register_threads", nullptr, ignore_value},
      {"pinned_use_background_threads", nullptr, ignore_value},
      {"pinned_free_catch_all", nullptr, ignore_value},
  };
  return kKeys;
}

}  // namespace

const std::vector<std::string>& setting_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Key& key : keys()) names.emplace_back(key.name);
    return names;
  }();
  return kNames;
}

base::Result<Settings> parse_settings(std::string_view text, const Rules& rules, Settings before) {
  const auto pairs = split_pairs(text);
  if (!pairs) return std::unexpected(pairs.error());
  for (const Pair& pair : *pairs) {
    const auto key = std::find_if(keys().begin(), keys().end(), [&](const Key& one) { return one.name == pair.key; });
    if (key == keys().end()) {
      return refuse(pair.key, "PyTorch has no such setting" + base::did_you_mean(pair.key, setting_names()));
    }
    if (key->in != nullptr && !(rules.*key->in)) {
      return refuse(pair.key, fmt::format("torch {}.{} has no such setting", rules.version.major, rules.version.minor));
    }
    if (const auto applied = key->apply(before, pair, rules); !applied) return std::unexpected(applied.error());
  }
  return before;
}

std::string to_string(const Settings& settings) {
  const Settings plain;
  std::vector<std::string> parts;
  const auto add_mib = [&](std::string_view key, std::uint64_t value, std::uint64_t usual) {
    if (value != usual) parts.push_back(fmt::format("{}:{}", key, value / kMib));
  };
  if (!settings.is_native) parts.emplace_back("backend:cudaMallocAsync");
  if (settings.expandable_segments) parts.emplace_back("expandable_segments:True");
  add_mib("max_split_size_mb", settings.max_split_bytes, plain.max_split_bytes);
  add_mib("max_non_split_rounding_mb", settings.max_non_split_rounding_bytes, plain.max_non_split_rounding_bytes);
  add_mib("large_segment_size_mb", settings.large_segment_bytes, plain.large_segment_bytes);
  if (settings.garbage_collection_threshold > 0) {
    parts.push_back(fmt::format("garbage_collection_threshold:{}", settings.garbage_collection_threshold));
  }
  const auto& cells = settings.roundup_power2_divisions;
  if (cells != plain.roundup_power2_divisions) {
    const bool is_one = std::all_of(cells.begin(), cells.end(), [&](auto cell) { return cell == cells[0]; });
    std::vector<std::string> items;
    for (std::size_t i = 0; i < cells.size(); ++i) items.push_back(fmt::format("{}:{}", 1U << i, cells[i]));
    parts.push_back(is_one ? fmt::format("roundup_power2_divisions:{}", cells[0])
                           : fmt::format("roundup_power2_divisions:[{}]", fmt::join(items, ",")));
  }
  if (settings.memory_fraction < 1) {
    parts.push_back(fmt::format("per_process_memory_fraction:{}", settings.memory_fraction));
  }
  if (settings.throw_on_oom) parts.emplace_back("throw_on_cudamalloc_oom:True");
  return fmt::format("{}", fmt::join(parts, ","));
}

std::uint64_t round_size(std::uint64_t requested, const Settings& settings) {
  if (requested < kMinBlockBytes) return kMinBlockBytes;
  const int log2 = 63 - std::countl_zero(requested);
  const std::uint64_t count = settings.roundup_power2_divisions[static_cast<std::size_t>(std::clamp(log2 - 20, 0, 15))];
  if (count > 1 && requested > kMinBlockBytes * count) {
    if (std::has_single_bit(requested)) return requested;
    const std::uint64_t below = std::uint64_t{1} << log2;
    const std::uint64_t step = below / count;
    return step == 0 ? below * 2 : (requested + step - 1) & ~(step - 1);
  }
  return round_to_blocks(requested);
}

std::uint64_t segment_bytes_for(std::uint64_t rounded, const Settings& settings) {
  if (rounded <= kSmallBytes) return kSmallSegmentBytes;
  if (rounded < kMinLargeRequestBytes) return settings.large_segment_bytes;
  return (rounded + kRoundLargeBytes - 1) & ~(kRoundLargeBytes - 1);
}

}  // namespace vramfit::allocator
