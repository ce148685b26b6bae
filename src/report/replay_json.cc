#include "report/replay_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/schemas.h"

namespace vramfit::report {

namespace {

using nlohmann::ordered_json;

template <class T>
ordered_json optional_bytes(const T& value) {
  return value ? ordered_json(value->count()) : ordered_json(nullptr);
}

ordered_json to_json(const model::ReplayOom& oom) {
  return {{"tried_bytes", oom.tried.count()},
          {"requested_bytes", oom.requested.count()},
          {"allocated_bytes", oom.allocated.count()},
          {"reserved_bytes", oom.reserved.count()},
          {"entry", oom.entry},
          {"where", oom.where}};
}

ordered_json to_json(const model::ReplayTrial& trial) {
  ordered_json json = {{"settings", trial.settings},
                       {"is_own", trial.is_own},
                       {"fits", trial.fits},
                       {"needs_bytes", optional_bytes(trial.needs)},
                       {"peak_reserved_bytes", trial.peak_reserved.count()},
                       {"peak_allocated_bytes", trial.peak_allocated.count()},
                       {"driver_allocations", trial.driver_allocations},
                       {"driver_frees", trial.driver_frees},
                       {"retries", trial.retries}};
  json["oom"] = trial.oom ? to_json(*trial.oom) : ordered_json(nullptr);
  return json;
}

ordered_json to_json(const model::ReplayProof& proof) {
  return {{"is_same", proof.is_same},
          {"segments", proof.segments},
          {"same_segments", proof.same_segments},
          {"blocks", proof.blocks},
          {"same_blocks", proof.same_blocks},
          {"recorded_reserved_bytes", proof.recorded_reserved.count()},
          {"replayed_reserved_bytes", proof.replayed_reserved.count()},
          {"differences", proof.differences}};
}

ordered_json to_json(const model::Fragmentation& from) {
  ordered_json owners = ordered_json::array(), segments = ordered_json::array();
  for (const model::ReplayOwner& one : from.owners) {
    owners.push_back({{"where", one.where},
                      {"pinned_alone_bytes", one.pinned_alone.count()},
                      {"pinned_shared_bytes", one.pinned_shared.count()},
                      {"live_bytes", one.live.count()},
                      {"blocks", one.blocks},
                      {"segments", one.segments}});
  }
  for (const model::ReplaySegment& one : from.segments) {
    segments.push_back({{"address", one.address},
                        {"pool", one.pool},
                        {"total_bytes", one.total.count()},
                        {"free_bytes", one.free.count()},
                        {"largest_hole_bytes", one.largest_hole.count()},
                        {"live_bytes", one.live.count()},
                        {"live_blocks", one.live_blocks},
                        {"owners", one.owners}});
  }
  return {{"entry", from.entry},
          {"is_at_oom", from.is_at_oom},
          {"reserved_bytes", from.reserved.count()},
          {"live_bytes", from.live.count()},
          {"free_bytes", from.free.count()},
          {"returnable_bytes", from.returnable.count()},
          {"pinned_bytes", from.pinned.count()},
          {"in_private_pools_bytes", from.in_pools.count()},
          {"largest_hole_bytes", from.largest_hole.count()},
          {"owners", owners},
          {"segments", segments}};
}

}  // namespace

std::string replay_to_json(const model::ReplayResult& result, std::string_view version) {
  ordered_json search = ordered_json::array();
  for (const model::ReplayTrial& trial : result.search) search.push_back(to_json(trial));
  ordered_json json = {{"schema", kReplaySchema},
                       {"vramfit", version},
                       {"verb", "replay"},
                       {"file", result.file},
                       {"device", result.device},
                       {"torch_rules", result.torch},
                       {"untested", result.untested},
                       {"events", result.events},
                       {"seeded_blocks", result.seeded_blocks},
                       {"seeded_bytes", result.seeded.count()},
                       {"unmatched_entries", result.unmatched_entries},
                       {"recorded_peak_reserved_bytes", result.recorded_peak.count()},
                       {"capacity_bytes", optional_bytes(result.capacity)},
                       {"capacity_source", result.capacity_source},
                       {"damage", result.damage},
                       {"proof", to_json(result.proof)},
                       {"own", to_json(result.own)}};
  json["asked"] = result.asked ? to_json(*result.asked) : ordered_json(nullptr);
  json["search"] = std::move(search);
  json["fragmentation"] = to_json(result.fragmentation);
  return base::json_file(json);
}

}  // namespace vramfit::report
