#include "virtual_gpu/nccl/exchange.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "virtual_gpu/nccl/mailbox.h"

namespace vramfit::nccl {
namespace {

// How long a rank that has not come is waited for: c10d's own limit for a collective
// (kProcessGroupNCCLDefaultTimeout), or VRAMFIT_RANK_WAIT seconds.
std::chrono::seconds patience() {
  constexpr std::chrono::minutes kUsual{10};
  const char* asked = std::getenv("VRAMFIT_RANK_WAIT");
  const int seconds = asked != nullptr ? std::atoi(asked) : 0;
  return seconds > 0 ? std::chrono::seconds{seconds} : kUsual;
}

// How often a rank that waits looks whether the other still lives.
constexpr std::chrono::milliseconds kGlance{200};
// A rank's own messages are removed this many calls later: every peer has long read them.
constexpr uint64_t kKeptCalls = 1024;

thread_local int group_depth = 0;
thread_local std::vector<std::function<void()>> waiting;

std::string part_key(const Communicator& communicator, uint64_t call, int rank) {
  return communicator.name + "-" + std::to_string(call) + "-" + std::to_string(rank);
}

std::string message_key(const Communicator& communicator, int from, int to, uint64_t number) {
  return communicator.name + "-m" + std::to_string(from) + "-" + std::to_string(to) + "-" + std::to_string(number);
}

std::string process_key(const Communicator& communicator, int rank) {
  return communicator.name + "-p-" + std::to_string(rank);
}

// A process that has ended and is not yet waited for is a zombie: it will post nothing any more.
bool is_running(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const size_t name_end = text.rfind(") ");  // the name before it may hold anything
  return name_end != std::string::npos && text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

// False only for a rank that introduced itself and has gone since.
bool may_still_come(const Mailbox& mailbox, const Communicator& communicator, int rank) {
  const auto process = mailbox.fetch(process_key(communicator, rank), std::chrono::milliseconds{0});
  return !process || is_running(std::atoi(process->c_str()));
}

std::optional<std::string> fetch(Communicator& communicator, const std::string& key, int rank) {
  const Mailbox* mailbox = session_mailbox();
  if (mailbox == nullptr) return std::nullopt;
  if (communicator.peer_left) return mailbox->fetch(key, std::chrono::milliseconds{0});
  const auto until = std::chrono::steady_clock::now() + patience();
  bool lives = true;
  while (lives && std::chrono::steady_clock::now() < until) {
    if (auto bytes = mailbox->fetch(key, kGlance)) return bytes;
    lives = may_still_come(*mailbox, communicator, rank);
  }
  if (auto bytes = mailbox->fetch(key, std::chrono::milliseconds{0})) return bytes;  // its last words
  communicator.peer_left = true;
  communicator.failed = lives;
  ledger::note_loss(lives ? "rank_late" : "rank_missing");
  return std::nullopt;
}

}  // namespace

void run_in_order(std::function<void()> work) {
  if (group_depth > 0) {
    waiting.push_back(std::move(work));
  } else {
    work();
  }
}

void begin_group() { ++group_depth; }

void end_group() {
  if (group_depth == 0 || --group_depth > 0) return;
  for (const auto& work : std::exchange(waiting, {})) work();
}

void post_part(Communicator& communicator, uint64_t call, const void* data, int64_t bytes) {
  const Mailbox* mailbox = session_mailbox();
  if (mailbox == nullptr) return;
  mailbox->post(part_key(communicator, call, communicator.rank), data, static_cast<size_t>(bytes));
  if (call >= kKeptCalls) mailbox->remove(part_key(communicator, call - kKeptCalls, communicator.rank));
}

void introduce(const Communicator& communicator) {
  const Mailbox* mailbox = session_mailbox();
  if (mailbox == nullptr || communicator.ranks < 2) return;
  const std::string process = std::to_string(getpid());
  mailbox->post(process_key(communicator, communicator.rank), process.data(), process.size());
}

std::optional<std::string> fetch_part(Communicator& communicator, uint64_t call, int rank) {
  return fetch(communicator, part_key(communicator, call, rank), rank);
}

void post_message(Communicator& communicator, int to, const void* data, int64_t bytes) {
  const uint64_t number = communicator.sent[to]++;
  if (const Mailbox* mailbox = session_mailbox()) {
    mailbox->post(message_key(communicator, communicator.rank, to, number), data, static_cast<size_t>(bytes));
  }
}

std::function<std::optional<std::string>()> expect_message(Communicator& communicator, int from) {
  const uint64_t number = communicator.received[from]++;
  return [&communicator, from, number]() -> std::optional<std::string> {
    const std::string key = message_key(communicator, from, communicator.rank, number);
    auto bytes = fetch(communicator, key, from);
    if (bytes) session_mailbox()->remove(key);  // only this rank reads it
    return bytes;
  };
}

Part find_part(Communicator& parent, int color, int key) {
  const uint64_t call = parent.collectives++;
  const int mine[2] = {color, key};
  post_part(parent, call, mine, sizeof mine);
  Part part{.ranks = 0, .rank = 0};
  for (int rank = 0; rank < parent.ranks; ++rank) {
    int theirs[2] = {color, rank};
    if (const auto bytes = fetch_part(parent, call, rank); bytes && bytes->size() == sizeof theirs) {
      std::memcpy(theirs, bytes->data(), sizeof theirs);
    }
    if (theirs[0] != color) continue;
    ++part.ranks;
    // Order within a part: by key, and by the parent's rank among equal keys.
    if (std::pair(theirs[1], rank) < std::pair(key, parent.rank)) ++part.rank;
  }
  return part;
}

}  // namespace vramfit::nccl
