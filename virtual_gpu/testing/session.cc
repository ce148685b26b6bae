#include "virtual_gpu/testing/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace vramfit::testing {
namespace {

void copy_text(char* to, size_t room, const std::string& text) {
  const size_t length = std::min(room - 1, text.size());
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

void make_robust_lock(pthread_mutex_t& lock) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

// A fixed pattern that tells virtual cards apart: "VRAMFIT" in the first bytes, the index in the last.
void fill_uuid(vf_card& card, size_t index) {
  static constexpr uint8_t kPattern[16] = {0x56, 0x52, 0x41, 0x4d, 0x46, 0x49, 0x54, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 0};
  std::memcpy(card.uuid, kPattern, sizeof kPattern);
  card.uuid[15] = static_cast<uint8_t>(index);
}

void write_ledger(vf_ledger& ledger, const SessionOptions& options) {
  ledger.version = VF_LEDGER_VERSION;
  ledger.card_count = static_cast<uint32_t>(options.cards.size());
  ledger.driver_version = options.driver_version;
  ledger.values = options.values;
  ledger.nccl_channel_bytes = options.nccl_channel_bytes;
  copy_text(ledger.driver_name, sizeof ledger.driver_name, options.driver_name);
  make_robust_lock(ledger.lock);
  for (size_t i = 0; i < options.cards.size(); ++i) {
    ledger.cards[i] = options.cards[i];
    fill_uuid(ledger.cards[i], i);
    ledger.use[i].used_bytes = ledger.use[i].peak_used_bytes = options.cards[i].occupied_bytes;
  }
  __atomic_store_n(&ledger.magic, VF_LEDGER_MAGIC, __ATOMIC_RELEASE);  // last: whoever sees it sees all of it
}

}  // namespace

vf_card example_card() {
  vf_card card = {};
  copy_text(card.name, sizeof card.name, "NVIDIA GeForce RTX 3090");
  card.compute_major = 8;
  card.compute_minor = 6;
  card.sm_count = 82;
  card.max_threads_per_sm = 1536;
  card.max_blocks_per_sm = 16;
  card.registers_per_sm = 65536;
  card.shared_bytes_per_sm = 102400;
  card.shared_bytes_per_block_optin = 101376;
  card.sm_clock_khz = 1695000;
  card.memory_clock_khz = 9751000;
  card.memory_bus_bits = 384;
  card.power_limit_milliwatts = 350000;
  card.l2_bytes = 6291456;
  card.total_bytes = 25438126080;
  card.context_bytes = 272629760;
  return card;
}

std::string create_session(const std::string& path, const SessionOptions& options) {
  if (options.cards.empty() || options.cards.size() > VF_MAX_CARDS) return "1 to 16 cards, please";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return path + ": " + std::strerror(errno);
  void* address = MAP_FAILED;
  if (ftruncate(file, sizeof(vf_ledger)) == 0) {
    address = mmap(nullptr, sizeof(vf_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (address == MAP_FAILED) {
    unlink(path.c_str());
    return path + ": cannot be mapped";
  }
  auto* ledger = static_cast<vf_ledger*>(address);
  write_ledger(*ledger, options);
  close_session(ledger);
  return {};
}

vf_ledger* open_session(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* address = mmap(nullptr, sizeof(vf_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return address == MAP_FAILED ? nullptr : static_cast<vf_ledger*>(address);
}

void close_session(vf_ledger* ledger) { munmap(ledger, sizeof(vf_ledger)); }

}  // namespace vramfit::testing
