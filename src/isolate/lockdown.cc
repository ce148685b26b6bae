#include "isolate/lockdown.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/file.h"

// Constants of Landlock versions 2 and 3, which an older system's linux/landlock.h does not have.
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

namespace vramfit::isolate {

namespace {

constexpr std::uint64_t kOfFiles = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
constexpr std::uint64_t kWriting = kOfFiles | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                   LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                   LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                   LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

// A path that is not there allows nothing.
void allow(int rules, const std::string& path, std::uint64_t rights) {
  const base::FileDescriptor file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!file) return;
  landlock_path_beneath_attr rule{};
  rule.parent_fd = file.number();
  rule.allowed_access = rights;
  if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return;
  rule.allowed_access = rights & kOfFiles;  // not a folder
  ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

}  // namespace

int landlock_version() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

base::Result<void> allow_writing(const std::vector<std::string>& writable) {
  const int version = landlock_version();
  if (version < 2) return {};
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = version >= 3 ? kWriting : kWriting & ~LANDLOCK_ACCESS_FS_TRUNCATE;
  const base::FileDescriptor rules(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0)));
  if (!rules) return base::fail_errno("cannot make a Landlock rule set");
  for (const std::string& path : writable) allow(rules.number(), path, attributes.handled_access_fs);
  if (!may_mount() && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return base::fail_errno("cannot give up new privileges, as Landlock needs");
  }
  if (::syscall(SYS_landlock_restrict_self, rules.number(), 0) != 0) return base::fail_errno("Landlock refuses");
  return {};
}

namespace {

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
};

}  // namespace

bool may_mount() {
  Capabilities now;
  if (::syscall(SYS_capget, &now.header, now.sets) != 0) return false;
  return (now.sets[0].effective & (1U << CAP_SYS_ADMIN)) != 0;
}

void drop_capabilities(Dropped which) {
  std::vector<int> dropped = {CAP_SYS_ADMIN, CAP_SYS_RAWIO, CAP_SYS_MODULE, CAP_SYS_BOOT, CAP_MKNOD};
  if (which == Dropped::kMountingAndNetwork) dropped.insert(dropped.end(), {CAP_NET_ADMIN, CAP_NET_RAW});
  Capabilities now;
  if (::syscall(SYS_capget, &now.header, now.sets) != 0) return;
  for (const int capability : dropped) {
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    auto& set = now.sets[capability / 32];
    const std::uint32_t others = ~(1U << (capability % 32));
    set.effective &= others;
    set.permitted &= others;
    set.inheritable &= others;
  }
  if (which == Dropped::kAll) now.sets[0] = now.sets[1] = {};
  ::syscall(SYS_capset, &now.header, now.sets);
}

}  // namespace vramfit::isolate
