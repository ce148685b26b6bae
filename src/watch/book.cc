#include "watch/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_text.h"
#include "history/job_identity.h"

namespace vramfit::watch {

namespace {

nlohmann::ordered_json bytes_or_null(const std::optional<base::Bytes>& bytes) {
  return bytes ? nlohmann::ordered_json(bytes->count()) : nlohmann::ordered_json(nullptr);
}

}  // namespace

void WatchTotals::add(const model::MachineSample& sample) {
  if (samples_++ == 0) first_ns_ = sample.at_unix_ns;
  last_ns_ = sample.at_unix_ns;
  for (const model::CardReading& card : sample.cards) {
    const auto found = std::ranges::find(cards_, card.uuid);
    const auto place = static_cast<std::size_t>(found - cards_.begin());
    if (found == cards_.end()) {
      cards_.push_back(card.uuid);
      model::CardFigures device;
      device.name = card.name;
      device.index = static_cast<int>(card.index.value_or(static_cast<std::int64_t>(place)));
      devices_.push_back(std::move(device));
    }
    model::CardFigures& device = devices_[place];
    if (card.total_bytes) device.total = base::Bytes(*card.total_bytes);
    for (const auto& used : {card.used_bytes, card.peak_used_bytes}) {
      if (used) device.device = std::max(device.device, std::optional(base::Bytes(*used)));
    }
  }
}

model::RunEnd WatchTotals::summarize(const std::filesystem::path& recording) const {
  model::RunEnd end;
  end.verdict = "recorded";
  end.reason = fmt::format("{} samples in {}", samples_, recording.string());
  end.wall_seconds = static_cast<double>(last_ns_ - first_ns_) * 1e-9;
  end.devices = devices_;
  nlohmann::ordered_json json{{"verb", "watch"}, {"recording", recording.string()}, {"samples", samples_}};
  json["first_at_unix_ns"] = first_ns_;
  json["last_at_unix_ns"] = last_ns_;
  json["cards"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    json["cards"].push_back({{"uuid", cards_[i]},
                             {"name", devices_[i].name},
                             {"total_bytes", bytes_or_null(devices_[i].total)},
                             {"peak_used_bytes", bytes_or_null(devices_[i].device)}});
  }
  end.result = base::json_file(json);
  return end;
}

WatchBook WatchBook::begin(const std::filesystem::path& recording, std::string version, base::ProgressSink& progress) {
  WatchBook book;
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(recording, ignored);
  book.recording_ = whole.empty() ? recording : whole;
  const std::vector<std::string> command{"vramfit", "watch", "--record", book.recording_.string()};
  book.book_ = history::RunBook::begin(history::describe_job("watch", command, std::move(version)), progress);
  return book;
}

}  // namespace vramfit::watch
