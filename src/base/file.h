// Whole files, and memory-mapped ones.
#ifndef VRAMFIT_BASE_FILE_H
#define VRAMFIT_BASE_FILE_H

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace vramfit::base {

Result<std::string> read_file(const std::filesystem::path& path);
// What is behind so many bytes is left: of a pipe whose writer never ends, too.
Result<std::string> read_beginning(const std::filesystem::path& path, std::size_t most);

// Writes beside the target and renames, so that a reader never sees half a file.
Result<void> write_file(const std::filesystem::path& path, std::string_view text);
// Whether that can be done, as far as is known before: for an answer that takes long to find.
Result<void> check_writable(const std::filesystem::path& path);

// A file's bytes as they are on disk, without reading them all into memory.
class MappedFile {
 public:
  static Result<std::shared_ptr<MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

// Closes a descriptor when it goes out of scope. -1 holds nothing.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { close(); }
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();
  void close();

 private:
  int number_ = -1;
};

}  // namespace vramfit::base

#endif
