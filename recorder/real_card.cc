#include "real_card.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "abi/nvml.h"

namespace vramfit::recorder {

namespace nvml = abi::nvml;

namespace {

constexpr const char* kNvml = "libnvidia-ml.so.1";

void* open_beside(void* library, const std::string& name) {
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return nullptr;
  const std::string path(map->l_name);
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? nullptr : dlopen((path.substr(0, slash + 1) + name).c_str(), RTLD_LAZY);
}

template <typename Function>
void find(void* library, Function& function, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function != nullptr) return;
  }
}

std::string digits_of(const unsigned char (&uuid)[16]) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < sizeof uuid; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

}  // namespace

struct Nvml::Calls {
  int (*init)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*memory_v2)(Handle, nvml::MemoryV2*) = nullptr;
  int (*memory)(Handle, nvml::Memory*) = nullptr;
  // compute, graphics and MPS processes
  int (*processes[3])(Handle, unsigned*, nvml::ProcessV2*) = {};
};

const Nvml* Nvml::find(void* driver) {
  static const Nvml* const found = [driver]() -> const Nvml* {
    void* library = dlopen(kNvml, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) library = open_beside(driver, kNvml);
    if (library == nullptr) return nullptr;
    // Never destroyed, nor is NVML shut down: the last look is taken while the process ends.
    auto* calls = new Calls;
    recorder::find(library, calls->init, {"nvmlInit_v2", "nvmlInit"});
    recorder::find(library, calls->driver_version, {"nvmlSystemGetDriverVersion"});
    recorder::find(library, calls->by_uuid, {"nvmlDeviceGetHandleByUUID"});
    recorder::find(library, calls->memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
    recorder::find(library, calls->memory, {"nvmlDeviceGetMemoryInfo"});
    recorder::find(library, calls->processes[0],
                   {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
    recorder::find(library, calls->processes[1],
                   {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
    recorder::find(library, calls->processes[2],
                   {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
    if (calls->init == nullptr || calls->by_uuid == nullptr || calls->init() != nvml::kSuccess) return nullptr;
    return new Nvml(*calls);
  }();
  return found;
}

Nvml::Handle Nvml::card_of(const unsigned char (&uuid)[16], std::string& name) const {
  for (const char* prefix : {"GPU-", "MIG-"}) {
    name = prefix + digits_of(uuid);
    Handle card = nullptr;
    if (calls_.by_uuid(name.c_str(), &card) == nvml::kSuccess) return card;
  }
  name = "GPU-" + digits_of(uuid);
  return nullptr;
}

// This is not what NVML says is used: in the first version of the call that holds the driver's own reserve too, which
// no job can have.
std::optional<int64_t> Nvml::free_bytes(Handle card) const {
  nvml::MemoryV2 memory{};
  memory.version = nvml::kMemoryV2Version;
  if (calls_.memory_v2 != nullptr && calls_.memory_v2(card, &memory) == nvml::kSuccess) {
    return static_cast<int64_t>(memory.free);
  }
  nvml::Memory old{};
  if (calls_.memory != nullptr && calls_.memory(card, &old) == nvml::kSuccess) return static_cast<int64_t>(old.free);
  return std::nullopt;
}

std::optional<int64_t> Nvml::own_bytes(Handle card) const {
  constexpr unsigned kRoomToGrow = 64;
  const auto own = static_cast<uint32_t>(getpid());
  for (const auto call : calls_.processes) {
    if (call == nullptr) continue;
    std::vector<nvml::ProcessV2> listed;
    unsigned count = 0;
    int answer = nvml::kInsufficientSize;
    for (int tries = 0; answer == nvml::kInsufficientSize && tries < 4; ++tries) {
      listed.resize(count += kRoomToGrow);
      answer = call(card, &count, listed.data());
    }
    if (answer != nvml::kSuccess) continue;
    for (unsigned i = 0; i < count && i < listed.size(); ++i) {
      if (listed[i].pid == own && listed[i].used_bytes != nvml::kNoBytes) {
        return static_cast<int64_t>(listed[i].used_bytes);
      }
    }
  }
  return std::nullopt;
}

std::string Nvml::driver_version() const {
  char text[96] = "";
  if (calls_.driver_version == nullptr || calls_.driver_version(text, sizeof text) != nvml::kSuccess) return "";
  return {text, strnlen(text, sizeof text)};
}

std::optional<RealCard> find_real_card(int device) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);  // the runtime has opened it
  if (driver == nullptr) return std::nullopt;
  int (*get)(int*, int) = nullptr;
  int (*name_of)(char*, int, int) = nullptr;
  int (*total_of)(size_t*, int) = nullptr;
  int (*uuid_of)(unsigned char*, int) = nullptr;
  find(driver, get, {"cuDeviceGet"});
  find(driver, name_of, {"cuDeviceGetName"});
  find(driver, total_of, {"cuDeviceTotalMem_v2"});
  find(driver, uuid_of, {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"});
  int handle = 0;
  char name[256] = "";
  size_t total = 0;
  const bool is_told = get != nullptr && name_of != nullptr && total_of != nullptr && get(&handle, device) == 0 &&
                       name_of(name, sizeof name, handle) == 0 && total_of(&total, handle) == 0;
  if (!is_told) return std::nullopt;
  RealCard card;
  card.name.assign(name, strnlen(name, sizeof name));
  card.total_bytes = static_cast<int64_t>(total);
  unsigned char uuid[16] = {};
  if (uuid_of == nullptr || uuid_of(uuid, handle) != 0) return card;
  card.uuid = "GPU-" + digits_of(uuid);
  card.nvml = Nvml::find(driver);
  if (card.nvml == nullptr) return card;
  card.handle = card.nvml->card_of(uuid, card.uuid);
  card.driver = card.nvml->driver_version();
  return card;
}

std::optional<CardLook> look_at(const RealCard& card) {
  if (card.handle == nullptr) return std::nullopt;
  const auto free = card.nvml->free_bytes(card.handle);
  if (!free) return std::nullopt;
  return CardLook{card.total_bytes - *free, card.nvml->own_bytes(card.handle)};
}

}  // namespace vramfit::recorder
