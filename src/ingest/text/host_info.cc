#include "ingest/text/host_info.h"

#include <array>
#include <string>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

using model::HostInfo;
using model::HostTable;

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  Cursor cursor(text);
  while (true) {
    cursor.skip_blanks();
    const std::string_view word = cursor.take_while([](char letter) { return !is_blank(letter); });
    if (word.empty()) return found;
    found.push_back(word);
  }
}

void add_size(HostInfo& info, std::string_view name, std::string_view text, std::int64_t unit) {
  if (const auto size = parse_size(text, Rounding::kUnknown, unit))
    info.sizes.push_back({std::string(name), size->bytes});
}

//   Filesystem      Size  Used Avail Use% Mounted on
//   shm              64M     0   64M   0% /dev/shm
std::optional<HostInfo> df_row(std::string_view text, std::string_view header) {
  const auto row = words(text);
  if (row.size() < 5 || row.size() > 7 || !row[row.size() - 2].ends_with('%') || !row.back().starts_with('/'))
    return std::nullopt;
  const std::size_t percent = row.size() - 2;
  if (percent < 3) return std::nullopt;
  const std::int64_t unit = header.contains("1M-blocks")   ? kMib
                            : header.contains("1K-blocks") ? kKib
                            : header.contains("1G-blocks") ? kGib
                                                           : 0;
  HostInfo info{.kind = HostTable::kDf, .subject = std::string(row.back())};
  add_size(info, "total", row[percent - 3], unit == 0 ? (row[percent - 3] == "0" ? 1 : 0) : unit);
  add_size(info, "used", row[percent - 2], unit == 0 ? (row[percent - 2] == "0" ? 1 : 0) : unit);
  add_size(info, "available", row[percent - 1], unit == 0 ? (row[percent - 1] == "0" ? 1 : 0) : unit);
  return info.sizes.size() == 3 ? std::optional(info) : std::nullopt;
}

//                  total        used        free      shared  buff/cache   available
//   Mem:           62Gi        38Gi       966Mi       278Mi       2.8Gi        20Gi
std::optional<HostInfo> free_row(std::string_view text) {
  const auto row = words(text);
  if (row.size() < 4 || (row[0] != "Mem:" && row[0] != "Swap:")) return std::nullopt;
  HostInfo info{.kind = HostTable::kFree, .subject = row[0] == "Mem:" ? "memory" : "swap"};
  static constexpr std::array<std::string_view, 6> kColumns{"total", "used", "free", "shared", "cache", "available"};
  // Without -h the unit is not printed, and the numbers say nothing.
  for (std::size_t i = 1; i < row.size() && i <= kColumns.size(); ++i)
    add_size(info, kColumns[i - 1], row[i], row[i] == "0" ? 1 : 0);
  return info.sizes.empty() ? std::nullopt : std::optional(info);
}

// "max locked memory           (kbytes, -l) 65536"
std::optional<HostInfo> ulimit_row(std::string_view text) {
  const std::size_t unit = text.find("(kbytes, -");
  if (unit == std::string_view::npos) return std::nullopt;
  HostInfo info{.kind = HostTable::kUlimit, .subject = std::string(trim(text.substr(0, unit)))};
  const std::size_t close = text.find(')', unit);
  const std::string_view value = close == std::string_view::npos ? std::string_view() : trim(text.substr(close + 1));
  info.unlimited = value == "unlimited";
  if (!info.unlimited) add_size(info, "limit", value, kKib);
  return info.unlimited || !info.sizes.empty() ? std::optional(info) : std::nullopt;
}

// "MemAvailable:   20111222 kB"
std::optional<HostInfo> meminfo_row(std::string_view text) {
  Cursor cursor(trim(text));
  const std::string_view name = cursor.take_while(is_word);
  static constexpr std::array<std::string_view, 8> kNames{"MemTotal", "MemFree", "MemAvailable", "SwapTotal",
                                                          "SwapFree", "Shmem",   "Mlocked",      "CommitLimit"};
  bool known = false;
  for (const std::string_view one : kNames) known |= one == name;
  if (!known || !cursor.take(":")) return std::nullopt;
  cursor.skip_blanks();
  HostInfo info{.kind = HostTable::kMeminfo, .subject = std::string(name)};
  if (cursor.rest().ends_with(" kB")) add_size(info, "size", cursor.rest(), 0);
  return info.sizes.empty() ? std::nullopt : std::optional(info);
}

// docker inspect: "ShmSize": 67108864,
std::optional<HostInfo> shm_size(std::string_view text) {
  if (!text.contains("\"ShmSize\"")) return std::nullopt;
  HostInfo info{.kind = HostTable::kDocker, .subject = "/dev/shm"};
  if (const auto size = integer_after(text, "\"ShmSize\""); size && *size >= 0)
    info.sizes.push_back({"total", model::exactly(model::held_within_limit(*size))});
  return info.sizes.empty() ? std::nullopt : std::optional(info);
}

class HostInfoReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (line.text.contains("Filesystem") && line.text.contains("Mounted on")) {
      header_ = std::string(line.text);
      return;
    }
    auto info = parse_host_info(line.text, header_);
    if (!info) {
      header_.clear();
      return;
    }
    info->at = sink.at(line);
    sink.add(sink.evidence().host, std::move(*info), "lines about the host");
  }

  bool wants_more() const override { return !header_.empty(); }

 private:
  std::string header_;  // of df, while its rows follow
};

constexpr std::array<std::string_view, 14> kHostInfoWords{
    "mounted on",    "/dev/shm",   "mem:  ",    "swap:  ", "(kbytes, -", "memtotal:",    "memfree:",
    "memavailable:", "swaptotal:", "swapfree:", "shmem:",  "mlocked:",   "commitlimit:", "shmsize"};

}  // namespace

std::optional<HostInfo> parse_host_info(std::string_view text, std::string_view header) {
  if (auto info = df_row(text, header)) return info;
  for (const auto parse : {free_row, ulimit_row, meminfo_row, shm_size}) {
    if (auto info = parse(text)) return info;
  }
  return std::nullopt;
}

const TextFormat kHostInfoFormat{"host_info", kHostInfoWords,
                                 [] { return std::unique_ptr<TextReader>(new HostInfoReader); }};

}  // namespace vramfit::ingest
