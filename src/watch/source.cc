#include "watch/source.h"

#include <vramfit/ledger.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/clock.h"
#include "job/installation.h"
#include "job/platforms.h"
#include "probe/machine_probe.h"

namespace vramfit::watch {

namespace {

bool has_ledger() {
  const char* path = std::getenv(VF_ENV_LEDGER);
  return path != nullptr && *path != '\0';
}

base::Result<probe::nvml::Library> open_nvml() {
  if (!has_ledger()) return probe::nvml::open_library(probe::nvml::usual_names());
  const auto installation = job::find_installation();
  if (!installation) return std::unexpected(installation.error());
  return probe::nvml::open_library(
      {(installation->stand_ins(job::platforms().cuda_majors.back()) / "libnvidia-ml.so.1").string()});
}

std::int64_t unix_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class LiveMachine final : public MachineSource {
 public:
  explicit LiveMachine(probe::ProbeOptions options) : probe_(std::move(options)) {}

  base::Result<std::optional<model::MachineSample>> next() override {
    return probe_.read(base::steady_clock().now_ns(), unix_now_ns());
  }

 private:
  probe::MachineProbe probe_;
};

}  // namespace

std::unique_ptr<MachineSource> open_machine(const LiveOptions& options) {
  constexpr std::int64_t kQuick = 250'000'000;  // a reading of PCIe traffic would hold up quicker samples
  probe::ProbeOptions probe{.open_nvml = open_nvml};
  probe.pace.throughput = options.interval_ns >= kQuick;
  probe.sessions = options.sessions && !has_ledger();
  return std::make_unique<LiveMachine>(std::move(probe));
}

}  // namespace vramfit::watch
