// `watch --record`: samples in a file that survives kill -9, a full disk and damage, and that rotates.
//
//   frame   "VFW1" | length u32 | crc32 of the payload u32 | payload          little-endian
//   payload 'T'  names of all fields: a group begins, nothing before it is needed
//           'E'  an entity (host, driver, card, process, share of a card): id, kind, texts
//           'S'  a sample: time, which entities are there, and the readings that changed since the sample before
//           'Z'  the writer stopped here. A file that ends otherwise was cut, or its writer was killed
//
// A group begins at least every kGroupSamples; a reader that meets damage goes on at the next one. Rotated files are
// FILE.1 (newest) to FILE.N.
#ifndef VRAMFIT_WATCH_RECORDING_H
#define VRAMFIT_WATCH_RECORDING_H

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "model/machine.h"
#include "watch/source.h"

namespace vramfit::watch {

inline constexpr int kGroupSamples = 600;

// Samples to frames. After reset() the next sample begins a group.
class SampleEncoder {
 public:
  SampleEncoder();
  ~SampleEncoder();
  void reset();
  std::string encode(const model::MachineSample& sample);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What a file ends with.
std::string end_frame();
bool is_end_frame(std::string_view payload);

// Frames to samples.
class SampleDecoder {
 public:
  SampleDecoder();
  ~SampleDecoder();
  // Takes one payload. A sample is appended to `samples` when it was one. False: damage; the group is lost.
  bool decode(std::string_view payload, std::vector<model::MachineSample>& samples);
  // Called after damage: what follows was written as a difference to what is lost, until the next group.
  void lose_group();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The payloads of a file's whole frames, one after another. What is damaged is skipped and counted.
class FrameScan {
 public:
  explicit FrameScan(std::string_view bytes) : bytes_(bytes) {}
  std::optional<std::string_view> next();
  bool skipped() const { return skipped_; }  // something was damaged before the last payload
  std::int64_t damaged_bytes() const { return damaged_bytes_; }
  std::size_t good_end() const { return good_end_; }  // behind the last whole frame

 private:
  std::string_view bytes_;
  std::size_t at_ = 0, good_end_ = 0;
  std::int64_t damaged_bytes_ = 0;
  bool skipped_ = false;
};

// All of a file at once: for short ones and tests.
struct DecodedFile {
  std::vector<model::MachineSample> samples;
  std::int64_t damaged_bytes = 0;  // skipped, a torn end included
  std::size_t good_end = 0;
};
bool sniff_watch_recording(std::string_view bytes);
DecodedFile decode_watch_recording(std::string_view bytes);

struct RecordOptions {
  base::Bytes limit = base::Bytes::mib(64);  // of one file
  int keep = 4;                              // rotated files beside it
};

class WatchRecorder {
 public:
  // Appends to a recording that is there, after cutting off what a killed writer left half. Refuses any other file, and
  // one that somebody else is writing.
  static base::Result<WatchRecorder> open(const std::filesystem::path& path, const RecordOptions& options);
  WatchRecorder(WatchRecorder&&) noexcept;
  WatchRecorder& operator=(WatchRecorder&&) = delete;
  ~WatchRecorder();

  // On an error the file is as it was before, and the next sample tries again.
  base::Result<void> add(const model::MachineSample& sample);
  const std::filesystem::path& path() const { return path_; }

 private:
  WatchRecorder() = default;
  base::Result<void> rotate();
  base::Result<void> start_file();
  void end_file();

  std::filesystem::path path_;
  RecordOptions options_;
  base::FileDescriptor file_;
  std::int64_t size_ = 0;
  int samples_ = 0;          // of this group
  bool is_growing_ = false;  // it has samples of ours and no end yet
  std::unique_ptr<SampleEncoder> encoder_;
};

// The samples of a recording and of its rotated files, oldest first.
base::Result<std::unique_ptr<MachineSource>> open_watch_recording(const std::filesystem::path& path);

}  // namespace vramfit::watch

#endif
