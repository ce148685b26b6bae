#include "job/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "job/orphaned_jobs.h"
#include "job/platforms.h"

namespace vramfit::job {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::FileDescriptor;
using base::Result;

namespace {

constexpr std::string_view kSessionPrefix = "vramfit.";
constexpr std::string_view kNewPrefix = "vramfit-new.";  // until it is locked

// The folder where glibc's shm_open would put it; a machine without it keeps ledgers with the other temporary files.
fs::path shared_memory_folder() {
  return ::access("/dev/shm", W_OK | X_OK) == 0 ? fs::path("/dev/shm") : fs::path("/tmp");
}

fs::path temporary_folder() {
  for (const char* name : {"TMPDIR", "XDG_RUNTIME_DIR"}) {
    const char* folder = std::getenv(name);
    if (folder != nullptr && *folder != '\0' && ::access(folder, W_OK | X_OK) == 0) return folder;
  }
  return "/tmp";
}

std::string unique_name() {
  std::random_device random;
  return fmt::format("{}-{:08x}", ::getpid(), random());
}

bool lock_now(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0; }

// Unlocked and ours. A session is locked before it gets its name, so one that is not locked has no owner any more.
bool is_abandoned(const fs::path& lock) {
  const FileDescriptor file(::open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || status.st_uid != ::getuid()) return false;
  return lock_now(file.number());
}

// A layer may hold folders that their owner may not write to.
void remove_folder(const fs::path& folder) {
  std::error_code problem, ignored;
  fs::remove_all(folder, problem);
  if (!problem) return;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
  for (auto entry = fs::recursive_directory_iterator(folder, problem); !problem && entry != fs::end(entry);
       entry.increment(problem)) {
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored)) {
      fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(folder, ignored);
}

int remove_stale_in(const fs::path& folder) {
  int removed = 0;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    if (!entry.path().filename().string().starts_with(kSessionPrefix)) continue;
    std::error_code ignored;
    const bool is_folder = entry.is_directory(ignored) && !entry.is_symlink(ignored);
    if (!is_abandoned(is_folder ? entry.path() / "lock" : entry.path())) continue;
    if (is_folder) end_processes_of(entry.path());
    remove_folder(entry.path());
    ++removed;
  }
  return removed;
}

void copy_name(char* into, std::size_t room, std::string_view name) {
  const std::size_t length = std::min(room - 1, name.size());
  std::memcpy(into, name.data(), length);
  into[length] = '\0';
}

// Settled by name and index, so that CUDA_VISIBLE_DEVICES=GPU-... means the same card in every run.
void fill_uuid(std::uint8_t (&uuid)[16], std::string_view name, int index) {
  std::uint64_t hash = 1469598103934665603ull + static_cast<std::uint64_t>(index);  // FNV-1a
  for (std::uint8_t& byte : uuid) {
    for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211ull;
    byte = static_cast<std::uint8_t>(hash >> 32);
  }
}

void init_lock(vf_ledger& ledger) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&ledger.lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

}  // namespace

int remove_stale_sessions() {
  const fs::path shared = shared_memory_folder(), temporary = temporary_folder();
  int removed = remove_stale_in(shared);
  if (temporary != shared) removed += remove_stale_in(temporary);
  return removed;
}

vf_card build_card(const model::EmulatedCard& emulated, int index) {
  const model::Card& from = emulated.card;
  const auto known = [](int figure, int usual) { return figure > 0 ? figure : usual; };
  vf_card card{};
  copy_name(card.name, sizeof card.name, from.name);
  fill_uuid(card.uuid, from.name, index);
  card.compute_major = from.capability.major;
  card.compute_minor = from.capability.minor;
  card.sm_count = from.sm_count;
  card.max_threads_per_sm = known(from.max_threads_per_sm, 1024);
  card.max_blocks_per_sm = known(from.max_blocks_per_sm, 16);
  card.registers_per_sm = known(from.registers_per_sm, 65536);
  card.shared_bytes_per_sm = known(from.shared_bytes_per_sm, 65536);
  card.shared_bytes_per_block_optin = known(from.shared_bytes_per_block_optin, 49152);
  card.sm_clock_khz = known(from.sm_clock_khz, -1);
  card.memory_clock_khz = known(from.memory_clock_khz, -1);
  card.memory_bus_bits = known(from.memory_bus_bits, -1);
  card.is_integrated = from.is_integrated ? 1 : 0;
  card.power_limit_milliwatts =
      from.power_limit_watts ? static_cast<int>(std::lround(*from.power_limit_watts * 1e3)) : -1;
  if (from.instance) {
    copy_name(card.whole_name, sizeof card.whole_name, from.instance->whole_name);
    card.whole_sm_count = from.instance->whole_sm_count;
    card.whole_bytes = from.instance->whole_memory.count();
    card.mig_slices = from.instance->slices;
  }
  card.l2_bytes = from.l2.count() > 0 ? from.l2.count() : -1;
  card.total_bytes = emulated.total.count();
  card.occupied_bytes = emulated.occupied.count();
  card.context_bytes = emulated.context.count();
  card.context_uncertainty_bytes = emulated.context_uncertainty.count();
  card.kernel_bytes = emulated.kernels.count();
  card.library_bytes = emulated.library.count();
  return card;
}

Result<void> Session::create_ledger(const SessionOptions& options, const std::string& name) {
  const fs::path path = shared_memory_folder() / (std::string(kSessionPrefix) + name);
  ledger_path_ = shared_memory_folder() / (std::string(kNewPrefix) + name);
  FileDescriptor file(::open(ledger_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) {
    auto failure = base::fail_errno("cannot create the ledger of the virtual cards", path.string());
    ledger_path_.clear();
    return failure;
  }
  if (!lock_now(file.number()) || ::rename(ledger_path_.c_str(), path.c_str()) != 0) {
    return base::fail_errno("cannot lock the ledger of the virtual cards", path.string());
  }
  ledger_path_ = path;
  // Reserved now: a page that shared memory has no room for would kill whoever writes to it later.
  if (const int problem = ::posix_fallocate(file.number(), 0, sizeof(vf_ledger)); problem != 0) {
    errno = problem;
    return base::fail_errno(fmt::format("shared memory has no room for the ledger ({} KiB)", sizeof(vf_ledger) / 1024),
                            ledger_path_.parent_path().string(), "df -h /dev/shm; in a container, a larger --shm-size");
  }
  void* memory = ::mmap(nullptr, sizeof(vf_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) return base::fail_errno("cannot map the ledger", ledger_path_.string());
  ledger_ = static_cast<vf_ledger*>(memory);
  ledger_->version = VF_LEDGER_VERSION;
  ledger_->card_count = static_cast<std::uint32_t>(options.cards.size());
  ledger_->driver_version = static_cast<std::uint32_t>(options.driver_version);
  ledger_->values = options.keep_values ? 1 : 0;
  ledger_->cudnn_workspace_policy = static_cast<std::int64_t>(options.workspaces);
  const bool is_wsl = options.address_order == model::AddressOrder::kWsl;
  ledger_->address_order = is_wsl ? VF_ADDRESSES_WSL : VF_ADDRESSES_LINUX;
  ledger_->nccl_channel_bytes = options.nccl_channels.count();
  copy_name(ledger_->driver_name, sizeof ledger_->driver_name, find_driver(options.driver_version).second);
  init_lock(*ledger_);
  for (std::size_t i = 0; i < options.cards.size(); ++i) {
    ledger_->cards[i] = build_card(options.cards[i], static_cast<int>(i));
    vf_card_use& use = ledger_->use[i];
    use.used_bytes = use.peak_used_bytes = options.cards[i].occupied.count();
    use.smallest_free_bytes_at_refusal = -1;
  }
  ledger_->magic = VF_LEDGER_MAGIC;  // last: readers look for it first
  ledger_lock_ = std::move(file);
  return {};
}

Result<void> Session::create_run_folder(const std::string& name) {
  const fs::path folder = temporary_folder() / (std::string(kSessionPrefix) + name);
  const fs::path fresh = temporary_folder() / (std::string(kNewPrefix) + name);
  if (::mkdir(fresh.c_str(), 0700) != 0) {
    return base::fail_errno("cannot create a folder for the recording", folder.string(), "TMPDIR=/a/folder/with/room");
  }
  run_folder_ = fresh;
  FileDescriptor lock(::open((fresh / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || !lock_now(lock.number()) || ::rename(fresh.c_str(), folder.c_str()) != 0) {
    return base::fail_errno("cannot write to the folder for the recording", folder.string());
  }
  run_folder_ = folder;
  folder_lock_ = std::move(lock);
  return {};
}

Result<Session> Session::create(const SessionOptions& options) {
  remove_stale_sessions();
  if (options.cards.size() > VF_MAX_CARDS) {
    return base::fail(ErrorCode::kUnsupported, fmt::format("at most {} cards", VF_MAX_CARDS), "--gpu");
  }
  Session session;
  const std::string name = unique_name();
  if (!options.cards.empty()) {
    if (auto made = session.create_ledger(options, name); !made) return std::unexpected(made.error());
  }
  if (auto made = session.create_run_folder(name); !made) return std::unexpected(made.error());
  return session;
}

Session::Session(Session&& other) noexcept
    : ledger_path_(std::exchange(other.ledger_path_, {})),
      run_folder_(std::exchange(other.run_folder_, {})),
      ledger_lock_(std::move(other.ledger_lock_)),
      folder_lock_(std::move(other.folder_lock_)),
      ledger_(std::exchange(other.ledger_, nullptr)) {}

Session::~Session() {
  if (ledger_ != nullptr) ::munmap(ledger_, sizeof(vf_ledger));
  std::error_code ignored;
  if (!ledger_path_.empty()) fs::remove(ledger_path_, ignored);
  if (!run_folder_.empty()) remove_folder(run_folder_);
}

}  // namespace vramfit::job
