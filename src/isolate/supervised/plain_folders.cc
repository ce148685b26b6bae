#include "isolate/supervised/plain_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace vramfit::isolate {

namespace {

using Slot = std::atomic_ref<std::uint64_t>;

template <typename Act>
void for_each_slot(vf_plain_folders* table, std::uint64_t hash, const Act& act) {
  for (std::uint32_t i = 0; i < VF_PLAIN_PROBES; ++i) {
    if (act(Slot(table->slots[(vf_plain_first(hash) + i) % VF_PLAIN_SLOTS]))) return;
  }
}

}  // namespace

PlainFolders::PlainFolders() : memory_(::memfd_create("vramfit-plain-folders", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!memory_ || ::ftruncate(memory_.number(), sizeof(vf_plain_folders)) != 0) return;
  void* table = ::mmap(nullptr, sizeof(vf_plain_folders), PROT_READ | PROT_WRITE, MAP_SHARED, memory_.number(), 0);
  if (table == MAP_FAILED) return;
  table_ = static_cast<vf_plain_folders*>(table);
  // Who has a descriptor can open it anew to write, but nobody can write to it from here on, but by our mapping.
  ::fcntl(memory_.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
}

PlainFolders::~PlainFolders() {
  if (table_ != nullptr) ::munmap(table_, sizeof *table_);
}

bool PlainFolders::contains(std::string_view words) const {
  if (table_ == nullptr) return false;
  const std::uint64_t hash = vf_plain_hash(words.data(), words.size());
  bool found = false;
  for_each_slot(table_, hash, [&](Slot slot) { return found = slot.load(std::memory_order_relaxed) == hash; });
  return found;
}

void PlainFolders::add(std::string_view words, const std::string& path) {
  if (table_ == nullptr || contains(words)) return;
  const std::uint64_t hash = vf_plain_hash(words.data(), words.size());
  hashes_[path].insert(hash);
  const auto put = [&](Slot slot, std::uint64_t wanted) { return slot.compare_exchange_strong(wanted, hash); };
  bool is_in = false;
  for_each_slot(table_, hash, [&](Slot slot) { return is_in = put(slot, 0); });
  if (!is_in) Slot(table_->slots[vf_plain_first(hash)]).store(hash);  // in place of another, which is asked for again
}

void PlainFolders::drop(const std::string& path) {
  const auto known = hashes_.find(path);
  if (known == hashes_.end()) return;
  for (const std::uint64_t hash : known->second) {
    for_each_slot(table_, hash, [&](Slot slot) {
      std::uint64_t wanted = hash;
      slot.compare_exchange_strong(wanted, 0);
      return false;
    });
  }
  hashes_.erase(known);
}

void PlainFolders::clear() {
  if (hashes_.empty()) return;
  hashes_.clear();
  for (std::uint64_t& slot : table_->slots) Slot(slot).store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

base::FileDescriptor PlainFolders::open_read_only() const {
  if (table_ == nullptr) return {};
  return base::FileDescriptor(::open(fmt::format("/proc/self/fd/{}", memory_.number()).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace vramfit::isolate
