#include "app/check/partner.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/check/block_stream.h"
#include "app/check/snapshot_stream.h"
#include "facts/block_events.h"

namespace vramfit::app {

namespace {

std::string describe(const job::RunSnapshot& snapshot) {
  if (!snapshot.by_script) return "its memory history from the first use of the card to its end";
  return snapshot.name.empty() ? "a snapshot that the script takes" : "what the script dumps to " + snapshot.name;
}

Partner partner_of(const job::RunSnapshot& snapshot, int wanted, bool is_same_dump) {
  const auto index = static_cast<std::size_t>(wanted);
  const auto& traces = snapshot.snapshot.traces;
  const bool has_it = index < traces.size() && !traces[index].empty();
  const int device = has_it ? wanted : busiest_device(snapshot.snapshot);
  return {stream_of(snapshot.snapshot, device), describe(snapshot), device, is_same_dump};
}

}  // namespace

std::vector<Partner> find_partners(const Recorded& recorded, const std::string& file_name,
                                   const job::RunOutcome& outcome) {
  std::vector<Partner> partners;
  if (recorded.format != RecordedFormat::kSnapshot) {
    for (const facts::BlockEvents& process : facts::block_events(*outcome.facts, recorded.device)) {
      auto stream = stream_of(process);
      if (stream.events.empty()) continue;
      partners.push_back({std::move(stream), "all that its allocator does", recorded.device, false});
    }
    return partners;
  }
  const auto is_named = [&](const job::RunSnapshot& snapshot) {
    return snapshot.by_script && snapshot.name == file_name;
  };
  const bool one_is_named = std::ranges::any_of(outcome.snapshots, is_named);
  for (const job::RunSnapshot& snapshot : outcome.snapshots) {
    if (!one_is_named || is_named(snapshot)) {
      partners.push_back(partner_of(snapshot, recorded.device, one_is_named));
    }
  }
  return partners;
}

}  // namespace vramfit::app
