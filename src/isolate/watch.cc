#include "isolate/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "isolate/counters.h"
#include "isolate/descriptors.h"
#include "isolate/kept_files.h"
#include "isolate/upper_tree.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;
using base::Result;

namespace {

bool is_bytecode(const fs::path& path) {
  return path.extension() == ".pyc" || path.filename().string().find(".pyc.") != std::string::npos;
}

bool is_there(const fs::path& path) {
  std::error_code problem;
  return fs::exists(fs::symlink_status(path, problem));
}

void count(const UpperEntry& entry, const fs::path& lower, LayerContents& contents) {
  if (is_bytecode(entry.path)) return;
  const fs::path path = lower / entry.path;
  if (entry.kind == UpperKind::kDeleted) {
    contents.add({path.string(), LayerChange::kRemoved, 0});
  } else if (entry.kind == UpperKind::kFile) {
    std::error_code problem;
    const auto size = fs::is_regular_file(entry.place, problem) ? fs::file_size(entry.place, problem) : 0;
    contents.add({path.string(), is_there(path) ? LayerChange::kChanged : LayerChange::kCreated,
                  problem ? 0 : static_cast<std::int64_t>(size)});
  }
}

// Shared memory is not files to anybody.
bool holds_files(const std::string& lower) { return !lower.empty() && lower != "/dev/shm"; }

// Less than this share of a layer left: the job was about to be refused, or was.
constexpr std::uint64_t kFullShare = 200;

}  // namespace

void LayerContents::add(LayerEntry entry) {
  constexpr std::ptrdiff_t kMaxOfKind = 20;
  deleted += entry.change == LayerChange::kRemoved ? 1 : 0;
  written += entry.change == LayerChange::kRemoved ? 0 : 1;
  replaced += entry.change == LayerChange::kChanged ? 1 : 0;
  bytes += entry.bytes;
  if (std::ranges::count(entries, entry.change, &LayerEntry::change) < kMaxOfKind) entries.push_back(std::move(entry));
}

Result<LayerWatch> LayerWatch::listen(const fs::path& folder) {
  auto socket = listen_in(folder.string(), kSocket);
  if (!socket) return std::unexpected(socket.error());
  return LayerWatch(std::move(*socket));
}

// Through the descriptor: the mount itself is gone with the job's last process.
fs::path LayerWatch::upper(std::size_t number) const {
  return fmt::format("/proc/self/fd/{}/upper/{}", base_.number(), number);
}

Result<LayerContents> LayerWatch::look() {
  pollfd waiting{socket_.number(), POLLIN, 0};
  if (::poll(&waiting, 1, 0) != 1) return base::fail(base::ErrorCode::kSystem, "the job did not enter its layer");
  const FileDescriptor connection(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  auto parcel = receive_parcel(connection.number());
  if (!parcel) return std::unexpected(parcel.error());
  const auto text = nlohmann::json::parse(parcel->text, nullptr, false);
  if (parcel->files.empty() || !text.is_object()) {
    return base::fail(base::ErrorCode::kCorrupt, "the job told nothing of its layer");
  }
  LayerContents contents;
  lowers_ = text.value("lowers", std::vector<std::string>());
  contents.read_only = text.value("read_only", std::vector<std::string>());
  base_ = std::move(parcel->files.front());
  for (std::size_t i = 0; i < lowers_.size(); ++i) {
    if (!holds_files(lowers_[i])) continue;
    walk_upper(upper(i), [&](const UpperEntry& entry) { count(entry, lowers_[i], contents); });
  }
  struct statvfs room {};
  if (!lowers_.empty() && ::fstatvfs(base_.number(), &room) == 0) {
    contents.is_full = room.f_bavail < room.f_blocks / kFullShare;
    contents.held = static_cast<std::int64_t>((room.f_blocks - room.f_bfree) * room.f_frsize);
  }
  if (parcel->files.size() > 1) contents.network_attempts += refused_packets(read_all(parcel->files[1].number()));
  if (parcel->files.size() > 2) contents.network_attempts += refused_packets6(read_all(parcel->files[2].number()));
  return contents;
}

namespace {

void keep_entry(const UpperEntry& entry, const fs::path& lower, const fs::path& to, std::ofstream& deleted,
                KeptFiles& kept) {
  std::error_code ignored;
  const fs::path path = to / entry.path, seen = lower / entry.path;
  switch (entry.kind) {
    case UpperKind::kDeleted:
      deleted << seen.string() << '\n';
      fs::remove_all(path, ignored);
      break;
    case UpperKind::kMoved:
      kept.add_tree(lower / entry.moved_from, path, seen.string());
      kept.add_folder(entry.place, path);
      break;
    case UpperKind::kReplaced:
      if (is_there(seen)) deleted << seen.string() << "/\n";
      [[fallthrough]];
    case UpperKind::kFolder:
      kept.add_folder(entry.place, path);
      break;
    case UpperKind::kFile:
      fs::remove(path, ignored);
      kept.add(entry.place, path, seen.string());
      break;
  }
}

}  // namespace

Result<std::vector<std::string>> LayerWatch::keep(const fs::path& folder) const {
  std::error_code problem;
  fs::create_directories(folder / "files", problem);
  std::ofstream deleted(folder / "deleted.txt");
  if (problem || !deleted) return base::fail_errno("cannot write to the folder for the job's files", folder.string());
  KeptFiles kept;
  for (std::size_t i = 0; i < lowers_.size(); ++i) {
    if (!holds_files(lowers_[i])) continue;
    const fs::path to = folder / "files" / fs::path(lowers_[i]).relative_path();
    walk_upper(upper(i), [&](const UpperEntry& entry) {
      if (!is_bytecode(entry.path)) keep_entry(entry, lowers_[i], to, deleted, kept);
    });
  }
  return kept.finish();
}

}  // namespace vramfit::isolate
