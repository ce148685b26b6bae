#include <fmt/format.h>

#include "app/init/checks.h"

namespace vramfit::app {

using base::Bytes;
using model::EnvironmentCheck;
using model::EnvironmentState;

namespace {

constexpr Bytes kCacheRoom = Bytes::gib(10);  // an environment with torch is about 3 GiB, its download as much
constexpr Bytes kStoreRoom = Bytes::mib(200);
constexpr Bytes kTemporaryRoom = Bytes::gib(3);  // a recording is up to 2 GiB

void add_room(std::vector<EnvironmentCheck>& checks, std::string_view what, const std::string& folder,
              std::optional<std::int64_t> free, Bytes wanted, std::string_view fix) {
  if (folder.empty()) return;
  if (!free) {
    checks.push_back(unknown("disk", fmt::format("{} {} cannot be looked at", what, folder)));
    return;
  }
  const std::string text = fmt::format("{}: {} free in {}", what, to_string(Bytes(*free)), folder);
  if (*free >= wanted.count()) {
    checks.push_back(good("disk", text));
  } else {
    checks.push_back({"disk", EnvironmentState::kWarning, text, fmt::format("It may need {}.", to_string(wanted)),
                      std::string(fix)});
  }
}

}  // namespace

std::vector<EnvironmentCheck> check_disks(const InitFacts& facts) {
  std::vector<EnvironmentCheck> checks;
  add_room(checks, "kept environments", facts.cache_folder, facts.cache_free_bytes, kCacheRoom,
           "VRAMFIT_CACHE=/a/folder/with/room");
  if (facts.store_problem) {
    // Each run would say so, and go on without.
    checks.push_back({"disk", EnvironmentState::kWarning,
                      fmt::format("no run can be noted: {}", facts.store_problem->what),
                      fmt::format("The history in {} can't be written.", facts.store_folder),
                      "VRAMFIT_STORE=/a/folder/that/can/be/written/runs.db"});
  } else {
    add_room(checks, "history", facts.store_folder, facts.store_free_bytes, kStoreRoom,
             "VRAMFIT_STORE=/a/folder/with/room/runs.db");
  }
  add_room(checks, "recordings", facts.temporary_folder, facts.temporary_free_bytes, kTemporaryRoom,
           "TMPDIR=/a/folder/with/room");
  return checks;
}

}  // namespace vramfit::app
