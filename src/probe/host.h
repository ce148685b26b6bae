// The host's memory: RAM, what is locked, /dev/shm, the page cache, and the limit of the cgroup we run in.
#ifndef VRAMFIT_PROBE_HOST_H
#define VRAMFIT_PROBE_HOST_H

#include <filesystem>
#include <string>

#include "model/machine.h"

namespace vramfit::probe {

struct HostPlaces {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroups = "/sys/fs/cgroup";
  std::filesystem::path shm = "/dev/shm";
};

model::HostReading read_host(const HostPlaces& places);

}  // namespace vramfit::probe

#endif
