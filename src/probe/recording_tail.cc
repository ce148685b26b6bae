#include "probe/recording_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vramfit/recording.h>

#include <algorithm>
#include <vector>

#include "base/file.h"

namespace vramfit::probe {

namespace {

constexpr std::int64_t kHeaderBytes = sizeof(vf_recording_header), kRecordBytes = sizeof(vf_record);

bool is_written(int file, std::int64_t index) {
  std::uint8_t kind = 0;
  return ::pread(file, &kind, 1, kHeaderBytes + index * kRecordBytes) == 1 && kind != 0;
}

// Records are written in order and the rest of the file is zero: the first unwritten one is found by halving.
std::int64_t count_written(int file, std::int64_t room) {
  std::int64_t low = 0, high = room;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (is_written(file, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool tells_allocator(const vf_record& record) {
  return record.kind == VF_RECORD_BLOCK_ALLOC || record.kind == VF_RECORD_BLOCK_FREE || record.kind == VF_RECORD_OOM;
}

}  // namespace

base::Result<std::map<int, AllocatorReading>> read_recording_tail(const std::filesystem::path& recording,
                                                                  std::int64_t most_records) {
  const base::FileDescriptor file(::open(recording.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return base::fail_errno("cannot open the recording", recording.string());
  vf_recording_header header{};
  struct stat status {};
  if (::pread(file.number(), &header, sizeof header, 0) != sizeof header || ::fstat(file.number(), &status) != 0 ||
      header.magic != VF_RECORDING_MAGIC || header.record_bytes != kRecordBytes) {
    return base::fail(base::ErrorCode::kCorrupt, "not a recording", recording.string());
  }
  const std::int64_t written = count_written(file.number(), (status.st_size - kHeaderBytes) / kRecordBytes);
  const std::int64_t first = std::max<std::int64_t>(written - most_records, 0);
  constexpr std::int64_t kPiece = 512;
  std::map<int, AllocatorReading> found;
  std::vector<vf_record> piece(kPiece);
  for (std::int64_t end = written; end > first && found.empty();) {
    const std::int64_t begin = std::max(end - kPiece, first);
    const std::int64_t bytes = (end - begin) * kRecordBytes;
    if (::pread(file.number(), piece.data(), static_cast<std::size_t>(bytes), kHeaderBytes + begin * kRecordBytes) !=
        bytes) {
      break;
    }
    for (std::int64_t i = end - begin; i-- > 0;) {
      const vf_record& record = piece[static_cast<std::size_t>(i)];
      if (tells_allocator(record)) found.try_emplace(record.device, AllocatorReading{record.a, record.b});
    }
    end = begin;
  }
  return found;
}

}  // namespace vramfit::probe
