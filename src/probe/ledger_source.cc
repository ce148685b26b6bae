#include "probe/ledger_source.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace vramfit::probe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "vramfit.";

// A session locks its ledger for as long as it lives; a shared lock is enough to ask, and is given back at once.
bool is_alive(const fs::path& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0;
}

std::string text_of(const char* text, std::size_t most) { return {text, ::strnlen(text, most)}; }

// Whoever made the file may have written any number: what has no place is the largest there is.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

// Never below 0.
std::int64_t rest_of(std::int64_t whole, std::int64_t taken) {
  return taken >= whole ? 0 : sum_of(whole, -std::max(taken, -std::numeric_limits<std::int64_t>::max()));
}

model::CardReading card_of(const vf_ledger& ledger, std::uint32_t index, const std::string& session) {
  const vf_card& card = ledger.cards[index];
  model::CardReading out{.uuid = uuid_of(card), .name = text_of(card.name, sizeof card.name), .session = session};
  const std::int64_t used = ledger.use[index].used_bytes;
  out.index = index;
  out.total_bytes = card.total_bytes;
  out.used_bytes = used;
  out.free_bytes = rest_of(card.total_bytes, used);
  out.peak_used_bytes = ledger.use[index].peak_used_bytes;
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

// Others write meanwhile; the kernel copies in pieces of eight bytes or more, so each number is read whole.
base::Result<std::shared_ptr<const vf_ledger>> read_ledger(const base::FileDescriptor& file, const fs::path& path) {
  auto ledger = std::make_shared_for_overwrite<vf_ledger>();
  auto* bytes = reinterpret_cast<char*>(ledger.get());
  for (std::size_t held = 0; held < sizeof(vf_ledger);) {
    const ssize_t more = ::pread(file.number(), bytes + held, sizeof(vf_ledger) - held, static_cast<off_t>(held));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return base::fail_errno("cannot read the ledger", path.string());
    if (more == 0) return base::fail(base::ErrorCode::kCorrupt, "not a ledger: too short", path.string());
    held += static_cast<std::size_t>(more);
  }
  if (ledger->magic != VF_LEDGER_MAGIC || ledger->version != VF_LEDGER_VERSION || ledger->card_count > VF_MAX_CARDS) {
    return base::fail(base::ErrorCode::kCorrupt, "not a ledger of this version", path.string());
  }
  return ledger;
}

base::Result<LedgerView> LedgerView::open(const fs::path& path) {
  // A FIFO of that name would have us wait for whoever writes into it.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return base::fail_errno("cannot open the ledger", path.string());
  LedgerView view;
  view.path_ = path;
  view.file_ = std::make_shared<const base::FileDescriptor>(std::move(file));
  if (auto read = view.read_again(); !read) return std::unexpected(read.error());
  return view;
}

base::Result<void> LedgerView::read_again() {
  auto ledger = read_ledger(*file_, path_);
  if (!ledger) return std::unexpected(ledger.error());
  ledger_ = std::move(*ledger);
  return {};
}

std::string LedgerView::session() const {
  const std::string name = path_.filename().string();
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

std::int64_t LedgerView::owner() const { return std::atoll(session().c_str()); }

void list_uses(const vf_ledger& ledger, const std::string& session, model::MachineSample& sample,
               std::vector<ListedUse>& uses) {
  for (std::uint32_t index = 0; index < ledger.card_count; ++index) {
    model::CardReading card = card_of(ledger, index, session);
    std::int64_t explained = 0;
    for (const vf_process& process : ledger.processes) {
      const std::int64_t used = process.used_bytes[index];
      if (process.pid == 0 || used <= 0) continue;
      explained = sum_of(explained, used);
      uses.push_back({.pid = process.pid,
                      .use = {.card = card.uuid,
                              .used_bytes = used,
                              .sm_percent = model::Absence::kNotSupported,
                              .context_bytes = process.context_bytes[index],
                              .library_bytes = process.library_bytes[index],
                              .peak_used_bytes = process.peak_used_bytes[index]}});
    }
    card.unexplained_bytes = rest_of(*card.used_bytes, explained);
    sample.cards.push_back(std::move(card));
  }
}

LedgerSource::LedgerSource(fs::path folder, std::int64_t look_ns) : folder_(std::move(folder)), look_ns_(look_ns) {}

const std::vector<LedgerView>& LedgerSource::sessions(std::int64_t now_ns) {
  std::erase_if(views_, [](LedgerView& view) { return !view.read_again(); });
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
