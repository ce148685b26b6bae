// The part of nvml_source.h that asks who uses a card.
#include <algorithm>
#include <iterator>
#include <utility>

#include "probe/nvml_answers.h"
#include "probe/nvml_source.h"

namespace vramfit::probe {

using model::Reading;
using nvml::absence_of;
using nvml::bytes_of;

namespace {

// The memory that the driver shows no process for. Unknown as soon as one process's share is.
Reading unexplained(const model::CardReading& card, const Reading& processes, const std::vector<ListedUse>& listed) {
  if (!card.used_bytes) return card.used_bytes.why();
  if (!processes) return processes.why();
  std::int64_t explained = 0;
  for (const ListedUse& one : listed) {
    if (!one.use.used_bytes) return one.use.used_bytes.why();
    explained += *one.use.used_bytes;
  }
  return std::max<std::int64_t>(*card.used_bytes - explained, 0);
}

}  // namespace

void NvmlSource::append_list(const nvml::Calls::ProcessCalls& calls, WatchedCard& card,
                             std::vector<ListedUse>& listed) const {
  constexpr unsigned kRoomToGrow = 64;
  const auto ask_all = [&](auto call, auto entry) {
    std::vector<decltype(entry)> entries;
    unsigned count = 0;
    int answer = nvml::kInsufficientSize;
    for (int tries = 0; answer == nvml::kInsufficientSize && tries < 4; ++tries) {
      entries.resize(count += kRoomToGrow);
      answer = call(card.handle, &count, entries.data());
    }
    if (answer != nvml::kSuccess) {
      if (card.processes && absence_of(answer) != model::Absence::kNotSupported) card.processes = absence_of(answer);
      entries.clear();
    } else {
      entries.resize(std::min<std::size_t>(count, entries.size()));
    }
    return entries;
  };
  const auto add = [&](std::uint32_t pid, std::uint64_t bytes, std::uint32_t gi, std::uint32_t ci) {
    ListedUse one{.pid = pid, .use = {.card = card.reading.uuid, .used_bytes = bytes_of(bytes)}};
    for (const WatchedCard& slice : card.slices) {
      const bool same_compute = ci == nvml::kNoInstance || slice.reading.compute_instance == Reading(ci);
      if (gi != nvml::kNoInstance && slice.reading.gpu_instance == Reading(gi) && same_compute) {
        one.use.card = slice.reading.uuid;
        break;
      }
    }
    // A process that both computes and draws stands in two lists with the same memory.
    const auto same = [&](const ListedUse& other) { return other.pid == one.pid && other.use.card == one.use.card; };
    if (std::ranges::none_of(listed, same)) listed.push_back(std::move(one));
  };
  if (calls.v3 != nullptr || calls.v2 != nullptr) {
    for (const auto& one : ask_all(calls.v3 != nullptr ? calls.v3 : calls.v2, nvml::ProcessV2{})) {
      add(one.pid, one.used_bytes, one.gpu_instance, one.compute_instance);
    }
  } else if (calls.v1 != nullptr) {
    for (const auto& one : ask_all(calls.v1, nvml::ProcessV1{})) {
      add(one.pid, one.used_bytes, nvml::kNoInstance, nvml::kNoInstance);
    }
  }
}

void NvmlSource::add_utilization(WatchedCard& card, std::vector<ListedUse>& listed) const {
  const auto call = library_->calls.process_utilization;
  constexpr unsigned kMost = 1024;
  std::vector<nvml::ProcessUtilization> samples(kMost);
  unsigned count = kMost;
  if (call == nullptr || listed.empty()) return;
  const int answer = call(card.handle, samples.data(), &count, card.utilization_seen_us);
  for (ListedUse& one : listed) {
    if (answer != nvml::kSuccess) one.use.sm_percent = absence_of(answer);
  }
  if (answer != nvml::kSuccess) return;
  samples.resize(std::min(count, kMost));
  for (const auto& sample : samples) {
    card.utilization_seen_us = std::max(card.utilization_seen_us, sample.at_us);
    for (ListedUse& one : listed) {
      if (one.pid == sample.pid) one.use.sm_percent = sample.sm;
    }
  }
}

void NvmlSource::read_processes(WatchedCard& card, std::vector<ListedUse>& uses) {
  std::vector<ListedUse> listed;
  card.processes = 0;
  append_list(library_->calls.compute, card, listed);
  append_list(library_->calls.graphics, card, listed);
  append_list(library_->calls.mps, card, listed);
  if (card.processes) card.processes = static_cast<std::int64_t>(listed.size());
  add_utilization(card, listed);
  card.reading.unexplained_bytes = unexplained(card.reading, card.processes, listed);
  std::ranges::move(listed, std::back_inserter(uses));
}

}  // namespace vramfit::probe
