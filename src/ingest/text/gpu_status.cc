#include "ingest/text/gpu_status.h"

#include <algorithm>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

constexpr std::ptrdiff_t kMostApart = 8;  // readings of one form that are kept apart

std::string known(std::string_view value) {
  value = trim(value);
  return value == "N/A" || value.starts_with("[") ? std::string() : std::string(value);
}

}  // namespace

std::optional<model::PrintedBytes> gpu_size(std::string_view text, std::int64_t default_unit) {
  const auto size = parse_size(trim(text), Rounding::kUnknown, default_unit);
  return size ? std::optional(size->bytes) : std::nullopt;
}

std::optional<double> gpu_number(std::string_view text) { return Cursor(trim(text)).take_number(); }

std::optional<int> gpu_index(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number < 4096 ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

void UsedReadings::add(const std::string& of, model::TrainingLogPoint point) {
  constexpr std::size_t kMostKept = 512;
  Series& series = series_[of];
  const bool is_left_out = series.thinning.leaves_out_next();
  series.thinning.count();
  if (is_left_out) return;
  series.thinning.make_room(series.points, kMostKept);
  point.label = of;
  series.points.push_back(std::move(point));
}

void UsedReadings::hand_over(EvidenceSink& sink) {
  constexpr std::size_t kFewest = 2;  // one reading is a status, and known as that
  for (auto& [of, series] : series_) {
    if (series.points.size() < kFewest) continue;
    for (model::TrainingLogPoint& point : series.points)
      sink.add(sink.evidence().training, std::move(point), "readings of nvidia-smi");
  }
  series_.clear();
}

void add_status(EvidenceSink& sink, model::GpuStatus status) {
  if (status.cards.empty() && status.processes.empty() && !status.processes_listed) return;
  for (const model::GpuCard& card : status.cards) {
    if (!card.index || !card.used) continue;
    status.first_used.emplace(*card.index, *card.used);
    status.most_used.emplace(*card.index, *card.used);
  }
  auto& all = sink.evidence().gpu_status;
  const auto same = [&](const model::GpuStatus& other) {
    return other.form == status.form && other.at.file == status.at.file;
  };
  if (std::count_if(all.begin(), all.end(), same) < kMostApart)
    return sink.add(all, std::move(status), "readings of cards");
  model::GpuStatus& last = *std::find_if(all.rbegin(), all.rend(), same);
  last.samples += status.samples;
  last.cards = std::move(status.cards);
  last.processes = std::move(status.processes);
  for (const auto& [index, used] : status.most_used) {
    auto& most = last.most_used.try_emplace(index, used).first->second;
    if (most.value < used.value) most = used;
    last.first_used.try_emplace(index, used);
  }
}

void set_gpu_field(model::GpuCard& card, std::string_view section, std::string_view name, std::string_view value) {
  if (section == "fb_memory_usage") {
    if (name == "total") card.total = gpu_size(value);
    if (name == "used") card.used = gpu_size(value);
    if (name == "free") card.free = gpu_size(value);
    if (name == "reserved") card.reserved = gpu_size(value);
  } else if (section == "utilization") {
    if (name == "gpu_util" || name == "gpu") card.utilization_percent = gpu_number(value);
    if (name == "memory_util" || name == "memory") card.memory_utilization_percent = gpu_number(value);
  } else if (section == "temperature") {
    if (name == "gpu_temp" || name == "gpu_current_temp" || name == "gpu") card.temperature_c = gpu_number(value);
  } else if (section == "power_readings" || section == "gpu_power_readings") {
    const bool draw = name == "power_draw" || name == "instant_power_draw" || name == "instantaneous_power_draw" ||
                      name == "average_power_draw" || name == "current_power_draw";
    if (draw && gpu_number(value)) card.power_w = gpu_number(value);
    if (name == "power_limit" || name == "current_power_limit") card.power_limit_w = gpu_number(value);
  } else if (section == "mig_mode") {
    if (name == "current_mig" || name == "current") card.mig_mode = known(value);
  } else if (section == "driver_model") {
    if (name == "current_dm" || name == "current") card.driver_model = known(value);
  } else if (name == "product_name") {
    card.name = known(value);
  } else if (name == "uuid" || name == "gpu_uuid") {
    card.uuid = known(value);
  } else if (name == "compute_mode") {
    card.compute_mode = known(value);
  } else if (name == "display_active") {
    card.display = known(value) == "Enabled" ? "On" : known(value) == "Disabled" ? "Off" : "";
  } else if (name == "bus_id" && card.bus_id.empty()) {
    card.bus_id = known(value);
  }
}

void set_process_field(model::GpuProcess& process, std::string_view name, std::string_view value) {
  if (name == "pid" || name == "process_id") process.pid = to_integer(value);
  if (name == "type") process.type = known(value);
  if (name == "process_name" || name == "name") process.name = known(value);
  if (name == "used_memory" || name == "used_gpu_memory") process.memory = gpu_size(value);
  if (name == "gpu_instance_id") process.mig_instance = gpu_index(to_integer(value));
}

}  // namespace vramfit::ingest
