// The virtual cards of running sessions (`vramfit run` and its kin), read from their ledgers in shared memory. They
// need no NVML, and know more: exact peaks, contexts, what libraries hold.
#ifndef VRAMFIT_PROBE_LEDGER_SOURCE_H
#define VRAMFIT_PROBE_LEDGER_SOURCE_H

#include <vramfit/ledger.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "model/machine.h"
#include "probe/nvml_source.h"

namespace vramfit::probe {

// What a file holds, in memory of our own; an error where it is no ledger of this version.
base::Result<std::shared_ptr<const vf_ledger>> read_ledger(const base::FileDescriptor& file,
                                                           const std::filesystem::path& path);

// A ledger as it was when it was last read. Never mapped: whoever made the file may cut it off, and a mapping of what
// is gone ends the process that looks (SIGBUS). It can be read after its session ended and removed the file: its peaks
// are then final.
class LedgerView {
 public:
  static base::Result<LedgerView> open(const std::filesystem::path& path);

  // What it holds now. After an error it is what it was.
  base::Result<void> read_again();
  const vf_ledger& ledger() const { return *ledger_; }
  const std::filesystem::path& path() const { return path_; }
  // "12345-89abcdef" of "vramfit.12345-89abcdef"; the number is the pid of the vramfit that made it.
  std::string session() const;
  std::int64_t owner() const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const base::FileDescriptor> file_;
  std::shared_ptr<const vf_ledger> ledger_;
};

// "GPU-" and the 32 digits of a card's UUID in groups, as NVML spells it.
std::string uuid_of(const vf_card& card);

// Cards and processes of one ledger.
void list_uses(const vf_ledger& ledger, const std::string& session, model::MachineSample& sample,
               std::vector<ListedUse>& uses);

// All sessions of this user that are alive, as they are now. Looks for new ones at most every `look_ns`.
class LedgerSource {
 public:
  explicit LedgerSource(std::filesystem::path folder = "/dev/shm", std::int64_t look_ns = 1'000'000'000);

  const std::vector<LedgerView>& sessions(std::int64_t now_ns);

 private:
  std::filesystem::path folder_;
  std::int64_t look_ns_, next_look_ns_ = 0;
  std::vector<LedgerView> views_;
};

}  // namespace vramfit::probe

#endif
