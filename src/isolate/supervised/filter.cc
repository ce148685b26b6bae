#include "isolate/supervised/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include "isolate/supervised/calls.h"
#include "vramfit/plain_folders.h"

namespace vramfit::isolate {

namespace {

constexpr std::uint32_t kOtherAbi = 0x40000000;  // x32: the same architecture, other numbers
constexpr std::uint32_t kLargeFile = 0100000;    // O_LARGEFILE as the kernel has it
constexpr std::uint32_t kHarmlessFlags =
    O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME | kLargeFile;
constexpr auto kCalls = std::to_array<std::uint32_t>(
    {SYS_open,       SYS_openat2,     SYS_creat,        SYS_stat,         SYS_lstat,    SYS_access,    SYS_faccessat,
     SYS_readlink,   SYS_chdir,       SYS_truncate,     SYS_mkdir,        SYS_mkdirat,  SYS_rmdir,     SYS_unlink,
     SYS_unlinkat,   SYS_rename,      SYS_renameat,     SYS_renameat2,    SYS_link,     SYS_linkat,    SYS_symlink,
     SYS_symlinkat,  SYS_mknod,       SYS_mknodat,      SYS_chmod,        SYS_fchmod,   SYS_fchmodat,  kFchmodat2,
     SYS_chown,      SYS_lchown,      SYS_fchown,       SYS_fchownat,     SYS_utime,    SYS_utimes,    SYS_futimesat,
     SYS_utimensat,  SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,    SYS_getxattr, SYS_lgetxattr, SYS_listxattr,
     SYS_llistxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_statfs,   SYS_bind,      SYS_connect});
constexpr auto kSending = std::to_array<std::uint32_t>({SYS_connect, SYS_sendmsg, SYS_sendmmsg});
constexpr auto kRefused = std::to_array<std::uint32_t>({SYS_io_uring_setup, SYS_open_by_handle_at});

constexpr int kLoad = BPF_LD | BPF_W | BPF_ABS, kEqual = BPF_JMP | BPF_JEQ | BPF_K, kReturn = BPF_RET | BPF_K;

sock_filter statement(int code, std::uint32_t value) { return {static_cast<std::uint16_t>(code), 0, 0, value}; }
sock_filter jump(int code, std::uint32_t value, int yes, int no) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), value};
}

// The lower half of an argument is at its lower address.
sock_filter load_argument(int number, bool upper_half = false) {
  return statement(kLoad, static_cast<std::uint32_t>(offsetof(seccomp_data, args) + number * sizeof(std::uint64_t) +
                                                     (upper_half ? sizeof(std::uint32_t) : 0)));
}

// The call is handed over, but for what `exceptions` allow.
void hand_over_unless(std::vector<sock_filter>& program, std::uint32_t call,
                      const std::vector<sock_filter>& exceptions) {
  program.push_back(jump(kEqual, call, 0, static_cast<int>(exceptions.size()) + 1));
  program.insert(program.end(), exceptions.begin(), exceptions.end());
  program.push_back(statement(kReturn, SECCOMP_RET_USER_NOTIF));
}

// Reads of plain folders (vramfit/plain_folders.h). Whoever else says so reads what is really there, and nothing more.
std::vector<sock_filter> allow_plain_read() {
  return {load_argument(5), jump(kEqual, static_cast<std::uint32_t>(VF_PLAIN_READ), 0, 3), load_argument(5, true),
          jump(kEqual, static_cast<std::uint32_t>(VF_PLAIN_READ >> 32), 0, 1), statement(kReturn, SECCOMP_RET_ALLOW)};
}

void hand_over_reads(std::vector<sock_filter>& program) {
  const std::vector<sock_filter> plain = allow_plain_read();
  for (const std::uint32_t call : {SYS_statx, SYS_faccessat2, SYS_readlinkat, SYS_getcwd, SYS_getsockname})
    hand_over_unless(program, call, plain);
  // fstat() of the C library: newfstatat with AT_EMPTY_PATH, which names nothing.
  std::vector<sock_filter> status = {load_argument(3), jump(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1),
                                     statement(kReturn, SECCOMP_RET_ALLOW)};
  status.insert(status.end(), plain.begin(), plain.end());
  hand_over_unless(program, SYS_newfstatat, status);
  // An open that can't change anything: every other flag is asked for.
  std::vector<sock_filter> open = {load_argument(2), jump(BPF_JMP | BPF_JSET | BPF_K, ~kHarmlessFlags, 5, 0)};
  open.insert(open.end(), plain.begin(), plain.end());
  hand_over_unless(program, SYS_openat, open);
}

// Only sockets whose every way out is a call that is handed over, and the one that tells of the machine's interfaces.
void refuse_other_sockets(std::vector<sock_filter>& program) {
  const sock_filter refuse = statement(kReturn, SECCOMP_RET_ERRNO | EPERM),
                    allow = statement(kReturn, SECCOMP_RET_ALLOW);
  constexpr std::uint32_t kKindBits = 0xf;  // SOCK_TYPE_MASK of the kernel
  const std::vector<sock_filter> judge = {
      load_argument(0),
      jump(kEqual, AF_UNIX, 11, 0),
      jump(kEqual, AF_NETLINK, 0, 2),
      load_argument(2),
      jump(kEqual, NETLINK_ROUTE, 8, 7),
      jump(kEqual, AF_INET, 1, 0),
      jump(kEqual, AF_INET6, 0, 5),
      load_argument(2),
      jump(kEqual, IPPROTO_SCTP, 3, 0),  // connects by setsockopt() too
      load_argument(1),
      statement(BPF_ALU | BPF_AND | BPF_K, kKindBits),
      jump(BPF_JMP | BPF_JGT | BPF_K, SOCK_DGRAM, 0, 1),  // SOCK_STREAM is less; raw ones and the like are more
      refuse,
      allow,
  };
  program.push_back(jump(kEqual, SYS_socket, 0, static_cast<int>(judge.size())));
  program.insert(program.end(), judge.begin(), judge.end());
}

// Flags and attributes of a file are changed through a descriptor that need not be open for writing.
void refuse_changes_by_control(std::vector<sock_filter>& program) {
  constexpr std::uint32_t kFilesCommands[] = {'f', 'v', 'X', 0x94};  // FS_IOC_*, and of single file systems
  constexpr std::uint32_t kWrites = 1U << 30, kKindBits = 0xff00;
  const sock_filter refuse = statement(kReturn, SECCOMP_RET_ERRNO | ENOTTY),
                    allow = statement(kReturn, SECCOMP_RET_ALLOW);
  const std::vector<sock_filter> judge = {
      load_argument(1),
      jump(BPF_JMP | BPF_JSET | BPF_K, kWrites, 0, 6),
      statement(BPF_ALU | BPF_AND | BPF_K, kKindBits),
      jump(kEqual, kFilesCommands[0] << 8, 3, 0),
      jump(kEqual, kFilesCommands[1] << 8, 2, 0),
      jump(kEqual, kFilesCommands[2] << 8, 1, 0),
      jump(kEqual, kFilesCommands[3] << 8, 0, 1),
      refuse,
      allow,
  };
  program.push_back(jump(kEqual, SYS_ioctl, 0, static_cast<int>(judge.size())));
  program.insert(program.end(), judge.begin(), judge.end());
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
    hand_over_reads(program);
    refuse_changes_by_control(program);
    for (const std::uint32_t call : kCalls) hand_over(call);
  }
  if (!network) {
    refuse_other_sockets(program);
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
