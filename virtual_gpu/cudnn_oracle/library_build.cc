#include "library_build.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace vramfit::cudnn_oracle {
namespace {

namespace fs = std::filesystem;

constexpr std::streamsize kReadBytes = 256 << 10;  // of each end

// FNV-1a, 64 bits.
void add_to(uint64_t& sum, const std::vector<char>& bytes) {
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001B3ull;
}

std::vector<char> read_some(std::ifstream& file, std::streamoff from) {
  std::vector<char> bytes(static_cast<size_t>(kReadBytes));
  file.clear();
  file.seekg(from);
  file.read(bytes.data(), kReadBytes);
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(0, file.gcount())));
  return bytes;
}

std::string describe_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  uint64_t sum = 0xCBF29CE484222325ull;
  if (size >= 0) {
    add_to(sum, read_some(file, 0));
    add_to(sum, read_some(file, std::max<std::streamoff>(0, size - kReadBytes)));
  }
  return path.filename().string() + ' ' + std::to_string(size) + ' ' + std::to_string(sum);
}

}  // namespace

std::string describe_build(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> files;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (at->path().filename().string().starts_with(prefix)) files.push_back(describe_file(at->path()));
  }
  std::ranges::sort(files);
  std::string all;
  for (const std::string& file : files) all += file + '\n';
  return all;
}

}  // namespace vramfit::cudnn_oracle
