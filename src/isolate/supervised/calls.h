// What is answered to one system call: python's os.open, a shell's rename ... each as the kernel would on one file
// system.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_CALLS_H
#define VRAMFIT_ISOLATE_SUPERVISED_CALLS_H

#include <linux/seccomp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file.h"
#include "isolate/supervised/services.h"
#include "isolate/supervised/target.h"
#include "isolate/supervised/union_tree.h"

namespace vramfit::isolate {

inline constexpr unsigned kFchmodat2 = 452;  // younger than many a header

struct Answer {
  enum class Kind { kKernel, kValue, kError, kFile } kind = Kind::kKernel;
  std::int64_t value = 0;     // kValue; of kError the errno
  base::FileDescriptor file;  // kFile: the job gets it as its own
  bool closes_on_exec = false;

  static Answer kernel() { return {}; }
  static Answer error(int number) { return {Kind::kError, number, {}, false}; }
  static Answer done(std::int64_t value = 0) { return {Kind::kValue, value, {}, false}; }
  // 0, or -1 with errno.
  static Answer of(int result);
};

// What the job may reach besides files.
struct Reach {
  bool network = false;                // the machine's
  const Services* services = nullptr;  // without it, these are not reached either
};

// Sockets that the job gave a name in the layer, by their numbers: what it called them.
using SocketNames = std::unordered_map<std::uint64_t, std::string>;

class Calls {
 public:
  Calls(UnionTree& tree, SocketNames& sockets, const Reach& reach, const seccomp_notif& notice)
      : tree_(tree), sockets_(sockets), reach_(reach), call_(notice.data), target_(static_cast<pid_t>(notice.pid)) {}

  Answer answer();
  // Folders that the caller opened before they had a mirror, and has changed through its descriptor: it shall go on
  // with the mirror under the same number. After answer().
  struct Swap {
    int descriptor;
    base::FileDescriptor folder;
  };
  std::vector<Swap> find_swaps() const;
  bool was_refused_network() const { return refused_network_; }

 private:
  std::uint64_t argument(int index) const { return call_.args[index]; }
  int number(int index) const { return static_cast<int>(call_.args[index]); }
  std::string base_of(int folder);
  bool shows_mirror(const Found& found) const;
  bool is_moved_folder(const Found& found) const;
  int settle(Found& found);
  bool find(int folder, std::uint64_t text, bool follow, Found& found, Answer& problem);
  bool find_both(int from, std::uint64_t from_path, bool is_link, bool follow, int to, std::uint64_t to_path,
                 Found& source, Found& target, Answer& problem);

  Answer open(int folder, std::uint64_t path, std::uint64_t flags, mode_t mode, std::uint64_t resolve);
  Answer open_found(const Found& found, std::uint64_t flags, mode_t mode);
  Answer look(int folder, std::uint64_t path, std::uint64_t into, bool follow);
  Answer look_closer();
  Answer access(int folder, std::uint64_t path, int wanted, int flags);
  Answer read_link(int folder, std::uint64_t path, std::uint64_t into, std::uint64_t size);
  Answer change_folder();
  Answer tell_folder();
  Answer truncate();
  Answer make_folder(int folder, std::uint64_t path, mode_t mode);
  Answer make_node(int folder, std::uint64_t path, mode_t mode, dev_t device);
  Answer remove(int folder, std::uint64_t path, bool is_folder);
  Answer rename(int from, std::uint64_t from_path, int to, std::uint64_t to_path, unsigned flags);
  Answer link(int from, std::uint64_t from_path, int to, std::uint64_t to_path, int flags);
  Answer link_symbolic(std::uint64_t text, int folder, std::uint64_t path);
  // Changes of what is not content: `act` is called with the place in the layer.
  using Change = std::function<int(const std::string&)>;
  // What a change of an open file is about: a file of the layer's that the kernel changes itself (or no file at all),
  // one that `found` tells, or one that the job has removed, renamed or replaced since it opened it.
  enum class Opened { kKernels, kFound, kGone };
  Opened find_opened(const std::string& link, Found& found);
  Answer change_found(const Found& found, const Change& act);
  Answer change_link(const std::string& link, const Change& act);
  std::string link_of_process(std::uint64_t path) const;
  Answer change(int folder, std::uint64_t path, bool follow, const Change& act);
  Answer change_opened(int descriptor, const Change& act);
  Answer change_times(int folder, std::uint64_t path, const struct timespec* times, bool follow);
  Answer tell_room();
  Answer set_attribute(bool follow, bool is_opened);
  Answer tell_attributes(bool follow, bool is_list);
  Answer remove_attribute(bool follow, bool is_opened);
  Answer send();
  std::string socket_path(std::uint64_t address, std::uint64_t size) const;
  bool find_socket(const std::string& path, Found& found, Answer& problem);
  Answer bind_socket();
  Answer connect_socket();
  Answer tell_socket();

  void note_plain_folder(const std::string& words, const std::string& folder);
  Answer hand_out_plain_folders();
  Answer parent_ready(const Found& found);
  // The error with which a connection to an address, or a message there, is refused; 0: it is not.
  int refusal_of(std::uint64_t address, std::uint64_t size);

  UnionTree& tree_;
  SocketNames& sockets_;
  const Reach& reach_;
  const seccomp_data& call_;
  Target target_;
  bool refused_network_ = false;
  std::vector<std::pair<int, std::string>> opened_;  // real folders that the caller named by descriptors
};

}  // namespace vramfit::isolate

#endif
