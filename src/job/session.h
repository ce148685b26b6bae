// What one run keeps outside this process: the ledger in shared memory and a folder for recordings.
//
//   /dev/shm/vramfit.<name>            the ledger, locked (flock) while its session lives
//   $TMPDIR/vramfit.<name>/            recordings, strings, notes, the child's plan; holds the file `lock`, locked too
//
// Both go when the session does. A vramfit that was killed leaves them, unlocked: the next run removes them.
#ifndef VRAMFIT_JOB_SESSION_H
#define VRAMFIT_JOB_SESSION_H

#include <vramfit/ledger.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "model/card.h"

namespace vramfit::job {

// Where the workspaces of convolutions come from; vf_ledger::cudnn_workspace_policy.
enum class Workspaces { kZero = 0, kAskCudnn = 1, kRecorded = 2 };

struct SessionOptions {
  std::vector<model::EmulatedCard> cards;  // none: no ledger (a run on a real card)
  int driver_version = 13000;              // as cuDriverGetVersion spells it
  bool keep_values = false;                // --values cpu
  Workspaces workspaces = Workspaces::kZero;
  model::AddressOrder address_order = model::AddressOrder::kLinux;
  base::Bytes nccl_channels;  // what one communicator of several ranks takes of each card
};

class Session {
 public:
  static base::Result<Session> create(const SessionOptions& options);
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;
  ~Session();

  const std::filesystem::path& ledger_path() const { return ledger_path_; }
  const std::filesystem::path& run_folder() const { return run_folder_; }
  const vf_ledger* ledger() const { return ledger_; }  // null without cards

 private:
  Session() = default;
  base::Result<void> create_ledger(const SessionOptions& options, const std::string& name);
  base::Result<void> create_run_folder(const std::string& name);

  std::filesystem::path ledger_path_, run_folder_;
  base::FileDescriptor ledger_lock_, folder_lock_;
  vf_ledger* ledger_ = nullptr;
};

// Removes what dead sessions of this user left; returns how many things it removed. Runs at each create().
int remove_stale_sessions();

// Fills one card of the ledger; `index` makes its UUID and PCI-like identity differ from its twins'.
vf_card build_card(const model::EmulatedCard& card, int index);

}  // namespace vramfit::job

#endif
