#include "probe/ledger_source.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/file.h"

namespace vramfit::probe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "vramfit.";

// A session locks its ledger for as long as it lives; a shared lock is enough to ask, and is given back at once.
bool is_alive(const fs::path& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0;
}

// Others write while we read: each number is read whole.
std::int64_t now(const std::int64_t& number) {
  return std::atomic_ref<std::int64_t>(const_cast<std::int64_t&>(number)).load(std::memory_order_relaxed);
}

std::string text_of(const char* text, std::size_t most) { return {text, ::strnlen(text, most)}; }

model::CardReading card_of(const vf_ledger& ledger, std::uint32_t index, const std::string& session) {
  const vf_card& card = ledger.cards[index];
  model::CardReading out{.uuid = uuid_of(card), .name = text_of(card.name, sizeof card.name), .session = session};
  const std::int64_t used = now(ledger.use[index].used_bytes);
  out.index = index;
  out.total_bytes = card.total_bytes;
  out.used_bytes = used;
  out.free_bytes = std::max<std::int64_t>(card.total_bytes - used, 0);
  out.peak_used_bytes = now(ledger.use[index].peak_used_bytes);
  return out;
}

}  // namespace

std::string uuid_of(const vf_card& card) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = card.whole_name[0] != '\0' ? "MIG-" : "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[card.uuid[i] >> 4];
    text += kDigits[card.uuid[i] & 15];
  }
  return text;
}

base::Result<LedgerView> LedgerView::open(const fs::path& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return base::fail_errno("cannot open the ledger", path.string());
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || status.st_size < static_cast<off_t>(sizeof(vf_ledger))) {
    return base::fail(base::ErrorCode::kCorrupt, "not a ledger: too short", path.string());
  }
  void* memory = ::mmap(nullptr, sizeof(vf_ledger), PROT_READ, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) return base::fail_errno("cannot map the ledger", path.string());
  LedgerView view;
  view.path_ = path;
  view.ledger_ = std::shared_ptr<const vf_ledger>(static_cast<const vf_ledger*>(memory), [](const vf_ledger* mapped) {
    ::munmap(const_cast<vf_ledger*>(mapped), sizeof(vf_ledger));
  });
  if (view.ledger_->magic != VF_LEDGER_MAGIC || view.ledger_->version != VF_LEDGER_VERSION ||
      view.ledger_->card_count > VF_MAX_CARDS) {
    return base::fail(base::ErrorCode::kCorrupt, "not a ledger of this version", path.string());
  }
  return view;
}

std::string LedgerView::session() const {
  const std::string name = path_.filename().string();
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

std::int64_t LedgerView::owner() const { return std::atoll(session().c_str()); }

void read_ledger(const LedgerView& view, model::MachineSample& sample, std::vector<ListedUse>& uses) {
  const vf_ledger& ledger = view.ledger();
  for (std::uint32_t index = 0; index < ledger.card_count; ++index) {
    model::CardReading card = card_of(ledger, index, view.session());
    std::int64_t explained = 0;
    for (const vf_process& process : ledger.processes) {
      const std::int64_t used = now(process.used_bytes[index]);
      if (process.pid == 0 || used <= 0) continue;
      explained += used;
      uses.push_back({.pid = process.pid,
                      .use = {.card = card.uuid,
                              .used_bytes = used,
                              .sm_percent = model::Absence::kNotSupported,
                              .context_bytes = now(process.context_bytes[index]),
                              .library_bytes = now(process.library_bytes[index]),
                              .peak_used_bytes = now(process.peak_used_bytes[index])}});
    }
    card.unexplained_bytes = std::max<std::int64_t>(*card.used_bytes - explained, 0);
    sample.cards.push_back(std::move(card));
  }
}

LedgerSource::LedgerSource(fs::path folder, std::int64_t look_ns) : folder_(std::move(folder)), look_ns_(look_ns) {}

const std::vector<LedgerView>& LedgerSource::sessions(std::int64_t now_ns) {
  if (now_ns < next_look_ns_) return views_;
  next_look_ns_ = now_ns + look_ns_;
  std::erase_if(views_, [](const LedgerView& view) { return !is_alive(view.path()); });
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem)) {
    const fs::path& path = entry.path();
    const bool known = std::ranges::any_of(views_, [&](const LedgerView& view) { return view.path() == path; });
    if (known || !path.filename().string().starts_with(kPrefix) || !is_alive(path)) continue;
    if (auto view = LedgerView::open(path)) views_.push_back(std::move(*view));
  }
  std::ranges::sort(views_, {}, &LedgerView::session);
  return views_;
}

}  // namespace vramfit::probe
