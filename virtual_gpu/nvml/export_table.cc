// What NVIDIA's own nvidia-smi asks of NVML beside the public calls: a table of functions without names. Which entry is
// what was recovered by NVIDIA's project for testing without cards (NVIDIA/k8s-test-infra, pkg/gpu/mocknvml, bridge/
// internal.go, from nvidia-smi 580.65.06): the table's id, entry 81 and 213 to 215, and the layout of a process.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "virtual_gpu/nvml/nvml.h"
#include "virtual_gpu/nvml/processes.h"

extern "C" int nvmlDeviceGetHandleByIndex_v2(unsigned index, vramfit::nvml::Handle* handle);
extern "C" int nvmlSystemGetProcessName(unsigned pid, char* name, unsigned bytes);

namespace vramfit::nvml {
namespace {

constexpr std::array<unsigned char, 16> kTable{0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                               0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
constexpr std::size_t kEntries = 512;  // the first is the table's size in bytes
constexpr std::size_t kHandleByIndex = 81;
constexpr std::size_t kFirstProcessList = 213, kLastProcessList = 215;
constexpr unsigned kMostProcesses = 1 << 16;

// A process as these lists have it: its name is within.
struct NamedProcess {
  std::uint32_t pid = 0, reserved = 0;
  std::uint64_t used_bytes = 0;
  std::uint32_t gpu_instance = 0xffffffff, compute_instance = 0xffffffff;
  std::uint64_t protected_bytes = 0;
  std::array<char, 4096> name{};
};
static_assert(sizeof(NamedProcess) == 4128);

bool is_handle(const void* word) {
  const auto handle = static_cast<Handle>(word);
  return index_of(handle) >= 0 || is_slice(handle);
}

int list_processes(Handle handle, unsigned* count, NamedProcess* entries) {
  std::vector<ScriptedProcess> users;
  if (const int answer = find_users(handle, users); answer != kSuccess) {
    *count = 0;
    return answer;
  }
  const auto told = static_cast<unsigned>(std::min<std::size_t>(users.size(), *count));
  for (unsigned i = 0; i < told; ++i) {
    NamedProcess entry;
    entry.pid = users[i].pid;
    entry.used_bytes = users[i].used_bytes;
    entry.gpu_instance = users[i].gpu_instance;
    entry.compute_instance = users[i].compute_instance;
    nvmlSystemGetProcessName(entry.pid, entry.name.data(), static_cast<unsigned>(entry.name.size()));
    std::memcpy(entries + i, &entry, sizeof entry);
  }
  *count = told;
  return kSuccess;
}

// Entries take four words at most; those that take fewer leave in the others whatever was there.
int answer(std::size_t entry, void* first, void* second, void* third) {
  if (entry == kHandleByIndex && second != nullptr) {
    return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(first)),
                                         static_cast<Handle*>(second));
  }
  if (second == nullptr || !is_handle(first)) return kSuccess;  // nvidia-smi ends at any other answer
  const bool lists_processes = entry >= kFirstProcessList && entry <= kLastProcessList;
  if (!lists_processes || third == nullptr) return kNotSupported;  // what the words of others point at is not known
  auto* const count = static_cast<unsigned*>(second);
  if (*count == 0 || *count > kMostProcesses) return kNotSupported;
  // All three lists are asked for, one after the other: what computes belongs in the first.
  if (entry == kFirstProcessList) {
    return list_processes(static_cast<Handle>(first), count, static_cast<NamedProcess*>(third));
  }
  *count = 0;
  return kSuccess;
}

template <std::size_t Entry>
int entry_of_table(void* first, void* second, void* third, void*) {
  return answer(Entry, first, second, third);
}

using Table = std::array<const void*, kEntries>;

template <std::size_t... Entry>
Table make_table(std::index_sequence<Entry...>) {
  Table table{reinterpret_cast<const void*>(&entry_of_table<Entry>)...};
  table[0] = reinterpret_cast<const void*>(sizeof(Table));
  return table;
}

}  // namespace
}  // namespace vramfit::nvml

namespace nvml = vramfit::nvml;

VF_ABI int nvmlInternalGetExportTable(const void** table, const void* id) {
  if (table == nullptr || id == nullptr) return nvml::kInvalidArgument;
  if (std::memcmp(id, nvml::kTable.data(), nvml::kTable.size()) != 0) return nvml::kNotSupported;
  static const nvml::Table kFunctions = nvml::make_table(std::make_index_sequence<nvml::kEntries>());
  *table = kFunctions.data();
  return nvml::kSuccess;
}
