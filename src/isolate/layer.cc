#include "isolate/layer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_text.h"
#include "isolate/descriptors.h"
#include "isolate/inherited.h"
#include "isolate/layer_tree.h"
#include "isolate/lockdown.h"
#include "isolate/mount_calls.h"
#include "isolate/network.h"
#include "isolate/supervised/session.h"

namespace vramfit::isolate {

using base::fail_errno;
using base::FileDescriptor;
using base::Result;

namespace {

Result<void> write_text(const char* path, const std::string& text) {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  if (file && ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  return fail_errno("cannot set up a user namespace", path);
}

// The user stays who he is: `id -u` says what it said before.
Result<void> map_user(uid_t user, gid_t group) {
  if (auto done = write_text("/proc/self/setgroups", "deny"); !done) return done;
  if (auto done = write_text("/proc/self/uid_map", fmt::format("{0} {0} 1", user)); !done) return done;
  return write_text("/proc/self/gid_map", fmt::format("{0} {0} 1", group));
}

// Only the mounts are new with CAP_SYS_ADMIN, and files of other users stay what they are.
Result<void> leave_namespaces(bool is_able, const LayerSpec& spec) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const auto addresses = spec.network ? std::vector<Address>() : own_addresses();
  // What System V keeps (shared memory, queues, semaphores) would outlive the job.
  const int wanted = (spec.has_files ? CLONE_NEWNS | CLONE_NEWIPC : 0) | (spec.network ? 0 : CLONE_NEWNET) |
                     (is_able ? 0 : CLONE_NEWUSER);
  if (::unshare(wanted) != 0) {
    return fail_errno(is_able ? "cannot make a namespace for files" : "this machine makes no user namespaces for you");
  }
  if (!is_able) {
    if (auto mapped = map_user(user, group); !mapped) return mapped;
  }
  if (spec.has_files && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return fail_errno("cannot make mounts private");
  }
  return spec.network ? Result<void>() : set_up_loopback(addresses);
}

Result<void> mount_base(const LayerSpec& spec) {
  const std::string options =
      spec.limit_bytes > 0 ? fmt::format("mode=0755,size={}", spec.limit_bytes) : std::string("mode=0755,size=50%");
  if (::mount("vramfit", spec.staging.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0) return {};
  return fail_errno("cannot mount a file system in memory", spec.staging);
}

Result<void> put_shared(const LayerSpec& spec, const std::vector<FileDescriptor>& mounts, const std::string& root) {
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (auto put = put_mount(mounts[i], root + spec.shared[i]); !put) return put;
  }
  return {};
}

struct Tree {
  std::vector<std::string> lowers, read_only;
};

Result<void> report(const LayerSpec& spec, const Tree& tree) {
  if (spec.report.empty()) return {};
  const FileDescriptor base(::open(spec.staging.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::filesystem::path socket = spec.report;
  const auto connection = connect_in(socket.parent_path().string(), socket.filename().string());
  if (!connection) return std::unexpected(connection.error());
  const nlohmann::json text = {{"lowers", tree.lowers}, {"read_only", tree.read_only}};
  std::vector<int> files = {base.number()};
  const FileDescriptor counters(spec.network ? -1 : ::open("/proc/self/net/snmp", O_RDONLY | O_CLOEXEC));
  const FileDescriptor counters6(counters ? ::open("/proc/self/net/snmp6", O_RDONLY | O_CLOEXEC) : -1);
  if (counters) files.push_back(counters.number());
  if (counters6) files.push_back(counters6.number());
  return send_parcel(connection->number(), base::json_line(text), files);
}

// The job and its children keep what they can do, but for what would undo the layer.
void settle(bool is_able) {
  drop_capabilities(is_able ? Dropped::kMounting : Dropped::kAll);
  // Or root of a user namespace gets them all back with its next program, and the kernel forgets whose death it dies
  // with.
  if (!is_able) ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // new capabilities had switched it off, and with it a process's view of itself
}

Result<void> enter_network(const LayerSpec& spec, bool is_able) {
  if (auto left = leave_namespaces(is_able, spec); !left) return left;
  if (auto told = report(spec, {}); !told) return told;
  settle(is_able);
  return {};
}

}  // namespace

Result<void> enter(const LayerSpec& spec) { return spec.is_supervised ? enter_supervised(spec) : enter_layer(spec); }

Result<void> enter_layer(const LayerSpec& spec) {
  const bool is_able = !spec.in_user_namespace && may_mount();
  if (!spec.has_files) return enter_network(spec, is_able);
  char* here = ::getcwd(nullptr, 0);
  if (here == nullptr) return fail_errno("the working folder is gone");
  const std::string folder = here;
  std::free(here);
  const std::vector<InheritedFile> inherited = list_inherited();
  if (auto left = leave_namespaces(is_able, spec); !left) return left;
  std::vector<FileDescriptor> shared;
  for (const std::string& path : spec.shared) {
    auto mount = take_mount(path);
    if (!mount) return std::unexpected(mount.error());
    shared.push_back(std::move(*mount));
  }
  if (auto mounted = mount_base(spec); !mounted) return mounted;
  LayerTree tree(spec.staging, is_able, spec.near);
  if (auto built = tree.build(); !built) return built;
  if (auto put = put_shared(spec, shared, tree.root()); !put) return put;
  if (auto told = report(spec, {tree.lowers(), tree.read_only()}); !told) return told;
  if (auto changed = change_root(tree.root()); !changed) return changed;
  if (::chdir(folder.c_str()) != 0) return fail_errno("the working folder is not in the layer", folder);
  open_again(inherited);
  // Mounts are as they shall be: Landlock keeps them so, for root too. Where the output goes, it may be opened anew
  // (`echo >> /dev/stderr`).
  if (auto locked = allow_writing({"/", "/proc/self/fd/1", "/proc/self/fd/2"}); !locked) return locked;
  settle(is_able);
  return {};
}

}  // namespace vramfit::isolate
