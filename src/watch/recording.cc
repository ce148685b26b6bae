#include "watch/recording.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace vramfit::watch {

namespace fs = std::filesystem;

namespace {

base::Result<base::FileDescriptor> open_locked(const fs::path& path) {
  base::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return base::fail_errno("cannot open the recording", path.string());
  if (::flock(file.number(), LOCK_EX | LOCK_NB) != 0) {
    return base::fail(base::ErrorCode::kUsage, "another vramfit is writing this recording", path.string(),
                      "another file for this one");
  }
  return file;
}

fs::path rotated(const fs::path& path, int number) { return fmt::format("{}.{}", path.string(), number); }

}  // namespace

WatchRecorder::WatchRecorder(WatchRecorder&&) noexcept = default;
WatchRecorder::~WatchRecorder() { end_file(); }

// The file has no end where that does not fit: as after a kill.
void WatchRecorder::end_file() {
  if (!file_ || !is_growing_) return;
  const std::string end = end_frame();
  [[maybe_unused]] const ssize_t written = ::pwrite(file_.number(), end.data(), end.size(), size_);
  is_growing_ = false;
}

base::Result<void> WatchRecorder::start_file() {
  auto file = open_locked(path_);
  if (!file) return std::unexpected(file.error());
  file_ = std::move(*file);
  encoder_ = std::make_unique<SampleEncoder>();
  samples_ = 0;
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) return base::fail_errno("cannot read the recording", path_.string());
  size_ = 0;
  if (status.st_size == 0) return {};
  const auto mapped = base::MappedFile::open(path_);
  if (!mapped) return std::unexpected(mapped.error());
  const auto bytes = (*mapped)->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // A writer that was killed at its very first write left the beginning of a frame.
  const bool is_beginning = std::string_view("VFW1").starts_with(text.substr(0, 4));
  if (!sniff_watch_recording(text) && !is_beginning) {
    return base::fail(base::ErrorCode::kUsage, "the file is no recording of vramfit watch", path_.string(),
                      "a new file's name");
  }
  FrameScan scan(text);
  while (scan.next()) {
  }
  const auto good_end = static_cast<std::int64_t>(scan.good_end());
  if (good_end < status.st_size && ::ftruncate(file_.number(), good_end) != 0) {
    return base::fail_errno("cannot repair the recording", path_.string());
  }
  size_ = good_end;
  return {};
}

base::Result<WatchRecorder> WatchRecorder::open(const fs::path& path, const RecordOptions& options) {
  WatchRecorder recorder;
  recorder.path_ = path;
  recorder.options_ = options;
  if (auto started = recorder.start_file(); !started) return std::unexpected(started.error());
  return recorder;
}

// The oldest goes first, so that a kill in between loses at most that one.
base::Result<void> WatchRecorder::rotate() {
  end_file();
  std::error_code problem;
  fs::remove(options_.keep > 0 ? rotated(path_, options_.keep) : path_, problem);
  for (int number = options_.keep - 1; number >= 1; --number) {
    if (fs::exists(rotated(path_, number), problem))
      fs::rename(rotated(path_, number), rotated(path_, number + 1), problem);
  }
  if (options_.keep > 0) fs::rename(path_, rotated(path_, 1), problem);
  if (problem) {
    return base::fail(base::ErrorCode::kSystem, "cannot rotate the recording: " + problem.message(), path_.string());
  }
  file_.close();
  return start_file();
}

base::Result<void> WatchRecorder::add(const model::MachineSample& sample) {
  if (size_ >= options_.limit.count()) {
    if (auto done = rotate(); !done) return done;
  }
  if (!file_) {
    if (auto done = start_file(); !done) return done;
  }
  if (samples_ == 0) encoder_->reset();
  const std::string frames = encoder_->encode(sample);
  std::size_t written = 0;
  while (written < frames.size()) {
    const ssize_t got =
        ::pwrite(file_.number(), frames.data() + written, frames.size() - written, size_ + static_cast<off_t>(written));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      auto refused = base::fail_errno("cannot write the recording", path_.string(), "free some disk space");
      [[maybe_unused]] const int cut = ::ftruncate(file_.number(), size_);
      samples_ = 0;  // the reader has not seen this one: begin anew
      return refused;
    }
    written += static_cast<std::size_t>(got);
  }
  size_ += static_cast<std::int64_t>(written);
  samples_ = (samples_ + 1) % kGroupSamples;
  is_growing_ = true;
  return {};
}

namespace {

std::string_view text_of(const base::MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

// What could be read of a recording, and with it how much could not. A sample is a frame of kind 'S'; behind damage
// those are whole that tell only what changed since the one that is gone, up to the next group.
class Losses {
 public:
  void see_damage(std::int64_t bytes) {
    bytes_ += bytes;
    ++stretches_;
    ends_damaged_ = true;
  }
  void see_frame(std::string_view payload, bool is_read) {
    if (payload.empty() || payload.front() != 'S') return;
    if (!is_read) ++unread_;
    ends_damaged_ = false;
  }
  // Samples come at even times: behind a gap, the time since the last one tells how many were in it.
  void see_sample(std::int64_t at_ns) {
    const std::int64_t since = last_ns_ > 0 ? at_ns - last_ns_ : 0;
    last_ns_ = at_ns;
    if (open() == 0) {
      if (since > 0) read_ns_ += since, ++intervals_;
      return;
    }
    const std::int64_t usual = intervals_ > 0 ? read_ns_ / intervals_ : 0;
    about_ += usual > 0 ? std::max((since + usual / 2) / usual - 1, unread_) : open();
    unread_ = stretches_ = 0;
  }
  void see_no_end() { has_no_end_ = true; }
  LostSamples told() const {
    return {
        .about = about_ + open(), .damaged_bytes = bytes_, .at_the_end = ends_damaged_, .is_without_end = has_no_end_};
  }

 private:
  // Since the last sample: the whole ones, and one for each stretch that is damaged.
  std::int64_t open() const { return unread_ + stretches_; }

  std::int64_t about_ = 0, bytes_ = 0, unread_ = 0, stretches_ = 0;
  std::int64_t last_ns_ = 0, read_ns_ = 0, intervals_ = 0;
  bool ends_damaged_ = false, has_no_end_ = false;
};

// Its end is still to come.
bool is_being_written(const fs::path& path) {
  const base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file && ::flock(file.number(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

class RecordedMachine final : public MachineSource {
 public:
  explicit RecordedMachine(std::vector<fs::path> files) : files_(std::move(files)) {}

  base::Result<std::optional<model::MachineSample>> next() override {
    std::vector<model::MachineSample> found;
    while (found.empty()) {
      const auto payload = scan_ ? scan_->next() : std::nullopt;
      note_damage();
      if (!payload) {
        if (scan_ && !has_ended_ && !is_being_written(files_[file_ - 1])) losses_.see_no_end();
        scan_.reset();
        if (file_ == files_.size()) return std::nullopt;
        auto mapped = base::MappedFile::open(files_[file_++]);
        if (!mapped) return std::unexpected(mapped.error());
        mapped_ = std::move(*mapped);
        scan_.emplace(text_of(*mapped_));
        damaged_bytes_ = 0;
        decoder_.lose_group();
        continue;
      }
      if (scan_->skipped()) decoder_.lose_group();
      has_ended_ = is_end_frame(*payload);
      losses_.see_frame(*payload, decoder_.decode(*payload, found));
    }
    losses_.see_sample(found.front().at_unix_ns);
    return std::move(found.front());
  }

  LostSamples lost() const override { return losses_.told(); }

 private:
  void note_damage() {
    if (!scan_ || !scan_->skipped()) return;
    losses_.see_damage(scan_->damaged_bytes() - damaged_bytes_);
    damaged_bytes_ = scan_->damaged_bytes();
  }

  std::vector<fs::path> files_;
  std::size_t file_ = 0;
  std::shared_ptr<base::MappedFile> mapped_;
  std::optional<FrameScan> scan_;
  std::int64_t damaged_bytes_ = 0;  // of this file, so far
  bool has_ended_ = false;          // by the last frame
  SampleDecoder decoder_;
  Losses losses_;
};

}  // namespace

std::string to_string(const LostSamples& lost) {
  if (!lost.is_any()) return "";
  if (lost.about == 0 && lost.damaged_bytes == 0) {
    return "the recording has no end: it was cut short, or its watch was killed. What came behind is not there";
  }
  return fmt::format("the recording is damaged: about {} samples are lost ({} bytes){}", lost.about, lost.damaged_bytes,
                     lost.at_the_end ? ", and it breaks off: nobody knows what came behind" : "");
}

base::Result<std::unique_ptr<MachineSource>> open_watch_recording(const fs::path& path) {
  const auto mapped = base::MappedFile::open(path);
  if (!mapped) return std::unexpected(mapped.error());
  if (!sniff_watch_recording(text_of(**mapped))) {
    return base::fail(base::ErrorCode::kCorrupt, "the file is no recording of vramfit watch", path.string(),
                      "a file that vramfit watch --record wrote");
  }
  std::vector<fs::path> files = {path};
  std::error_code ignored;
  for (int number = 1; fs::exists(rotated(path, number), ignored); ++number) {
    files.insert(files.begin(), rotated(path, number));
  }
  return std::make_unique<RecordedMachine>(std::move(files));
}

}  // namespace vramfit::watch
