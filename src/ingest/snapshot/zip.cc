#include "ingest/snapshot/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

namespace vramfit::ingest::snapshot {
namespace {

constexpr std::uint32_t kLocalMagic = 0x04034b50, kEntryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr std::uint32_t kLocator64Magic = 0x07064b50, kEnd64Magic = 0x06064b50;
constexpr std::size_t kLocalSize = 30, kEntrySize = 46, kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56;
constexpr std::uint16_t kExtra64 = 1;
// A snapshot's archive has a handful; a checkpoint's some thousands.
constexpr std::uint64_t kMostMembers = 1 << 20;
constexpr std::uint64_t kMostDirectory = std::uint64_t{256} << 20;

template <class Number>
Number get(std::string_view bytes, std::size_t at) {
  Number number{};
  if (at + sizeof number <= bytes.size()) std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

base::Result<std::string> read_exactly(pickle::Storage& storage, std::uint64_t offset, std::uint64_t size) {
  const auto damaged = [] { return base::fail(base::ErrorCode::kCorrupt, "the zip archive is damaged"); };
  if (offset > storage.size() || size > storage.size() - offset) return damaged();
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const auto got = storage.read_at(offset + have, std::span(bytes).subspan(have));
    if (!got) return std::unexpected(got.error());
    if (*got == 0) return damaged();
    have += *got;
  }
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// The end record lies before a comment of at most 65535 bytes.
base::Result<std::optional<Directory>> find_directory(pickle::Storage& storage) {
  const std::uint64_t tail_size = std::min<std::uint64_t>(storage.size(), kEndSize + 0xffff);
  const std::uint64_t tail_at = storage.size() - tail_size;
  const auto tail = read_exactly(storage, tail_at, tail_size);
  if (!tail) return std::unexpected(tail.error());
  for (std::size_t at = tail->size() < kEndSize ? 0 : tail->size() - kEndSize + 1; at-- > 0;) {
    if (get<std::uint32_t>(*tail, at) != kEndMagic) continue;
    Directory directory{get<std::uint32_t>(*tail, at + 16), get<std::uint32_t>(*tail, at + 12)};
    if (directory.offset == 0xffffffff || directory.size == 0xffffffff ||
        get<std::uint16_t>(*tail, at + 10) == 0xffff) {
      if (at < kLocator64Size || get<std::uint32_t>(*tail, at - kLocator64Size) != kLocator64Magic) continue;
      const auto end = read_exactly(storage, get<std::uint64_t>(*tail, at - kLocator64Size + 8), kEnd64Size);
      if (!end) return std::unexpected(end.error());
      if (get<std::uint32_t>(*end, 0) != kEnd64Magic) continue;
      directory = {get<std::uint64_t>(*end, 48), get<std::uint64_t>(*end, 40)};
    }
    if (directory.offset <= storage.size() && directory.size <= storage.size() - directory.offset) return directory;
  }
  return std::nullopt;
}

// Sizes that need 64 bits stand in an extra field, in this order, those only whose place in the entry is all ones.
void apply_extra(ZipMember& member, std::string_view extra, bool size_is_there) {
  while (extra.size() >= 4) {
    const auto length = get<std::uint16_t>(extra, 2);
    std::string_view field = extra.substr(4, length);
    if (get<std::uint16_t>(extra, 0) == kExtra64) {
      if (size_is_there && field.size() >= 8) field.remove_prefix(8);
      if (member.packed_size == 0xffffffff && field.size() >= 8) {
        member.packed_size = get<std::uint64_t>(field, 0);
        field.remove_prefix(8);
      }
      if (member.header_offset == 0xffffffff && field.size() >= 8) member.header_offset = get<std::uint64_t>(field, 0);
    }
    extra.remove_prefix(std::min<std::size_t>(extra.size(), 4u + length));
  }
}

base::Result<std::vector<ZipMember>> read_directory(pickle::Storage& storage, Directory directory) {
  if (directory.size > kMostDirectory)
    return base::fail(base::ErrorCode::kCorrupt, "the zip archive's directory is too large");
  const auto bytes = read_exactly(storage, directory.offset, directory.size);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<ZipMember> members;
  std::string_view rest = *bytes;
  while (rest.size() >= kEntrySize && get<std::uint32_t>(rest, 0) == kEntryMagic && members.size() < kMostMembers) {
    ZipMember member;
    member.is_encrypted = (get<std::uint16_t>(rest, 8) & 1) != 0;
    member.method = get<std::uint16_t>(rest, 10);
    member.crc = get<std::uint32_t>(rest, 16);
    member.packed_size = get<std::uint32_t>(rest, 20);
    const bool size_is_wide = get<std::uint32_t>(rest, 24) == 0xffffffff;
    const std::size_t name = get<std::uint16_t>(rest, 28), extra = get<std::uint16_t>(rest, 30);
    const std::size_t comment = get<std::uint16_t>(rest, 32);
    member.header_offset = get<std::uint32_t>(rest, 42);
    if (rest.size() < kEntrySize + name + extra + comment) break;
    member.name = rest.substr(kEntrySize, name);
    apply_extra(member, rest.substr(kEntrySize + name, extra), size_is_wide);
    members.push_back(std::move(member));
    rest.remove_prefix(kEntrySize + name + extra + comment);
  }
  return members;
}

base::Result<std::vector<ZipMember>> read_first_header(pickle::Storage& storage) {
  const auto header = read_exactly(storage, 0, kLocalSize);
  if (!header) return std::unexpected(header.error());
  const auto name = read_exactly(storage, kLocalSize, get<std::uint16_t>(*header, 26));
  if (!name) return std::unexpected(name.error());
  ZipMember member{.name = *name,
                   .packed_size = storage.size(),
                   .method = get<std::uint16_t>(*header, 8),
                   .is_encrypted = (get<std::uint16_t>(*header, 6) & 1) != 0};
  return std::vector{member};
}

class CrcSource final : public pickle::Source {
 public:
  CrcSource(std::unique_ptr<pickle::Source> unpacked, std::uint32_t expected)
      : unpacked_(std::move(unpacked)), expected_(expected) {}

  base::Result<std::size_t> read(std::span<char> room) override {
    auto got = unpacked_->read(room);
    if (!got) return got;
    sum_ = crc32_z(sum_, reinterpret_cast<const Bytef*>(room.data()), *got);
    if (*got == 0 && sum_ != expected_) {
      return base::fail(base::ErrorCode::kCorrupt,
                        fmt::format("the zip archive is damaged: its checksum is {:08x}, the bytes add up to {:08x}",
                                    expected_, sum_));
    }
    return got;
  }

 private:
  std::unique_ptr<pickle::Source> unpacked_;
  std::uint32_t expected_;
  uLong sum_ = 0;
};

}  // namespace

std::unique_ptr<pickle::Source> check_crc(std::unique_ptr<pickle::Source> unpacked, std::uint32_t crc) {
  return std::make_unique<CrcSource>(std::move(unpacked), crc);
}

base::Result<std::vector<ZipMember>> list_zip(pickle::Storage& storage) {
  const auto directory = find_directory(storage);
  if (!directory) return std::unexpected(directory.error());
  return *directory ? read_directory(storage, **directory) : read_first_header(storage);
}

base::Result<std::uint64_t> find_zip_data(pickle::Storage& storage, const ZipMember& member) {
  const auto header = read_exactly(storage, member.header_offset, kLocalSize);
  if (!header) return std::unexpected(header.error());
  if (get<std::uint32_t>(*header, 0) != kLocalMagic) {
    return base::fail(base::ErrorCode::kCorrupt, "the zip archive's directory points to no member");
  }
  return member.header_offset + kLocalSize + get<std::uint16_t>(*header, 26) + get<std::uint16_t>(*header, 28);
}

}  // namespace vramfit::ingest::snapshot
