#include "isolate/supervised/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

namespace vramfit::isolate {

namespace {

constexpr std::uint32_t kOtherAbi = 0x40000000;  // x32: the same architecture, other numbers
constexpr std::uint32_t kFchmodat2 = 452;        // younger than many a header
constexpr auto kCalls = std::to_array<std::uint32_t>(
    {SYS_open,         SYS_openat,       SYS_openat2,    SYS_creat,     SYS_stat,       SYS_lstat,      SYS_statx,
     SYS_access,       SYS_faccessat,    SYS_faccessat2, SYS_readlink,  SYS_readlinkat, SYS_chdir,      SYS_getcwd,
     SYS_truncate,     SYS_mkdir,        SYS_mkdirat,    SYS_rmdir,     SYS_unlink,     SYS_unlinkat,   SYS_rename,
     SYS_renameat,     SYS_renameat2,    SYS_link,       SYS_linkat,    SYS_symlink,    SYS_symlinkat,  SYS_mknod,
     SYS_mknodat,      SYS_chmod,        SYS_fchmod,     SYS_fchmodat,  kFchmodat2,     SYS_chown,      SYS_lchown,
     SYS_fchown,       SYS_fchownat,     SYS_utime,      SYS_utimes,    SYS_futimesat,  SYS_utimensat,  SYS_setxattr,
     SYS_lsetxattr,    SYS_fsetxattr,    SYS_getxattr,   SYS_lgetxattr, SYS_listxattr,  SYS_llistxattr, SYS_removexattr,
     SYS_lremovexattr, SYS_fremovexattr, SYS_statfs,     SYS_bind,      SYS_connect,    SYS_getsockname});
constexpr auto kSending = std::to_array<std::uint32_t>({SYS_connect, SYS_sendmsg, SYS_sendmmsg});
constexpr auto kRefused = std::to_array<std::uint32_t>({SYS_io_uring_setup, SYS_open_by_handle_at});

constexpr int kLoad = BPF_LD | BPF_W | BPF_ABS, kEqual = BPF_JMP | BPF_JEQ | BPF_K, kReturn = BPF_RET | BPF_K;

sock_filter statement(int code, std::uint32_t value) { return {static_cast<std::uint16_t>(code), 0, 0, value}; }
sock_filter jump(int code, std::uint32_t value, int yes, int no) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), value};
}

// fstat() of the C library: newfstatat with AT_EMPTY_PATH, which names nothing.
void hand_over_status(std::vector<sock_filter>& program) {
  program.push_back(jump(kEqual, SYS_newfstatat, 0, 4));
  program.push_back(statement(kLoad, offsetof(seccomp_data, args) + 3 * sizeof(std::uint64_t)));
  program.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
  program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  program.push_back(statement(kReturn, SECCOMP_RET_USER_NOTIF));
}

std::vector<sock_filter> build_program(bool files, bool network) {
  const sock_filter refuse = statement(kReturn, SECCOMP_RET_ERRNO | ENOSYS);
  std::vector<sock_filter> program = {statement(kLoad, offsetof(seccomp_data, arch)),
                                      jump(kEqual, AUDIT_ARCH_X86_64, 1, 0),
                                      refuse,
                                      statement(kLoad, offsetof(seccomp_data, nr)),
                                      jump(BPF_JMP | BPF_JGE | BPF_K, kOtherAbi, 0, 1),
                                      refuse};
  for (const std::uint32_t call : kRefused) {
    program.push_back(jump(kEqual, call, 0, 1));
    program.push_back(refuse);
  }
  const auto hand_over = [&](std::uint32_t call) {
    program.push_back(jump(kEqual, call, 0, 1));
    program.push_back(statement(kReturn, SECCOMP_RET_USER_NOTIF));
  };
  if (files) {
    hand_over_status(program);
    for (const std::uint32_t call : kCalls) hand_over(call);
  }
  if (!network) {
    for (const std::uint32_t call : kSending) hand_over(call);
    // send() of the C library: sendto without an address.
    program.push_back(jump(kEqual, SYS_sendto, 0, 3));
    program.push_back(statement(kLoad, offsetof(seccomp_data, args) + 4 * sizeof(std::uint64_t)));
    program.push_back(jump(kEqual, 0, 1, 0));
    program.push_back(statement(kReturn, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(statement(kReturn, SECCOMP_RET_ALLOW));
  return program;
}

}  // namespace

base::Result<base::FileDescriptor> hand_over_calls(bool files, bool network) {
  std::vector<sock_filter> program = build_program(files, network);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return base::fail_errno("cannot give up new privileges");
  base::FileDescriptor listener(
      static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter)));
  if (!listener) return base::fail_errno("the kernel hands no system calls over (seccomp)");
  return listener;
}

}  // namespace vramfit::isolate
