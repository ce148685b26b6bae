// Where bytes come from: memory, a file, or something that is unpacked on the way (ingest/snapshot/container.h).
#ifndef VRAMFIT_INGEST_PICKLE_SOURCE_H
#define VRAMFIT_INGEST_PICKLE_SOURCE_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace vramfit::ingest::pickle {

class Source {
 public:
  virtual ~Source() = default;
  // Fills at least one byte of a non-empty `room`; 0 at the end.
  virtual base::Result<std::size_t> read(std::span<char> room) = 0;
};

// Bytes that can be read at any place.
class Storage {
 public:
  virtual ~Storage() = default;
  virtual std::uint64_t size() const = 0;
  virtual base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> room) = 0;
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> room) override;

 private:
  std::span<const std::byte> bytes_;
};

// A regular file, read and not mapped: what was read needs no memory any more.
class FileStorage final : public Storage {
 public:
  static base::Result<FileStorage> open(const std::filesystem::path& path);
  std::uint64_t size() const override { return size_; }
  base::Result<std::size_t> read_at(std::uint64_t offset, std::span<char> room) override;

 private:
  FileStorage(base::FileDescriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  base::FileDescriptor file_;
  std::string name_;
  std::uint64_t size_ = 0;
};

// A part of a Storage, from front to back.
class RangeSource final : public Source {
 public:
  explicit RangeSource(Storage& storage, std::uint64_t offset = 0,
                       std::uint64_t size = std::numeric_limits<std::uint64_t>::max())
      : storage_(storage), next_(offset), left_(size) {}
  base::Result<std::size_t> read(std::span<char> room) override;

 private:
  Storage& storage_;
  std::uint64_t next_;
  std::uint64_t left_;
};

}  // namespace vramfit::ingest::pickle

#endif
