// How ranks of one session hand each other small buffers: one file per message in the run folder.
//
//   rank 0  post("c41f-7-0", bytes)   ──►  RUN/mail/c41f-7-0  ──►  fetch("c41f-7-0")  ranks 1, 2, 3
//
// Posting never waits. Fetching waits for the message, up to a limit: a peer that has died or has stopped early must
// not hang the others. The creator of the session removes the folder with the ledger.
#ifndef VRAMFIT_VIRTUAL_GPU_NCCL_MAILBOX_H
#define VRAMFIT_VIRTUAL_GPU_NCCL_MAILBOX_H

#include <chrono>
#include <optional>
#include <string>

namespace vramfit::nccl {

class Mailbox {
 public:
  explicit Mailbox(std::string folder) : folder_(std::move(folder)) {}

  // False: the message could not be stored (shared memory is full); whoever waits for it will give up in time.
  bool post(const std::string& key, const void* data, size_t bytes) const;
  // The message, or nothing when it has not come within `limit`.
  std::optional<std::string> fetch(const std::string& key, std::chrono::milliseconds limit) const;
  void remove(const std::string& key) const;

 private:
  std::string path_of(const std::string& key) const { return folder_ + "/" + key; }
  std::string folder_;
};

// The session's mailbox; null outside a session.
const Mailbox* session_mailbox();

}  // namespace vramfit::nccl

#endif
