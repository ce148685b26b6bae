#include "virtual_gpu/nccl/exchange.h"

#include <cstring>
#include <utility>

#include "virtual_gpu/nccl/mailbox.h"

namespace vramfit::nccl {
namespace {

// Longer than ranks drift apart while they start on a busy machine, shorter than anybody's patience.
constexpr std::chrono::seconds kPatience{30};
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

std::optional<std::string> fetch(Communicator& communicator, const std::string& key) {
  const Mailbox* mailbox = session_mailbox();
  if (mailbox == nullptr) return std::nullopt;
  const auto limit = communicator.lonely ? std::chrono::seconds{0} : kPatience;
  auto bytes = mailbox->fetch(key, limit);
  if (!bytes && !communicator.lonely) {
    communicator.lonely = true;
    ledger::note_warning("NCCL: a rank did not take part in a collective; its data is taken to equal this rank's");
  }
  return bytes;
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

std::optional<std::string> fetch_part(Communicator& communicator, uint64_t call, int rank) {
  return fetch(communicator, part_key(communicator, call, rank));
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
    auto bytes = fetch(communicator, key);
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
