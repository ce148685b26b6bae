#include "virtual_gpu/device/fat_binary.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vramfit::device {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr uint32_t kElfMagic = 0x464c457f;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void* data;
  void* unused;
};

struct Container {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;  // of the entries that follow
};

struct Entry {
  uint16_t kind;  // 1 PTX, 2 ELF
  uint16_t version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes;
  uint32_t unused;
  uint16_t minor;  // of the code format
  uint16_t major;
  uint32_t architecture;
};

constexpr uint16_t kPtx = 1;
constexpr uint16_t kElf = 2;

template <typename Header>
Header read_header(const char* at) {
  Header header;
  std::memcpy(&header, at, sizeof header);
  return header;
}

// Sizes are the file's own and may be anything: none of them leads behind the end that the container names.
std::vector<Image> images_in_container(const char* data) {
  const auto container = read_header<Container>(data);
  std::vector<Image> images;
  const char* at = data + container.header_bytes;
  uint64_t left = container.bytes;
  while (left >= sizeof(Entry)) {
    const auto entry = read_header<Entry>(at);
    if (entry.header_bytes < sizeof(Entry)) break;
    if (entry.kind == kPtx || entry.kind == kElf) images.push_back({entry.kind == kPtx, entry.architecture});
    if (entry.header_bytes > left || entry.bytes > left - entry.header_bytes) break;
    at += entry.header_bytes + entry.bytes;
    left -= entry.header_bytes + entry.bytes;
  }
  return images;
}

// e_flags of a CUDA ELF: bits 0-7 the architecture up to format version 7, bits 8-15 from version 8 on (CUDA 13).
Image image_of_elf(const char* data) {
  const auto flags = read_header<uint32_t>(data + 48);
  const auto format = static_cast<unsigned char>(data[8]);
  return {false, format >= 8 ? (flags >> 8) & 0xff : flags & 0xff};
}

std::vector<Image> images_in_ptx(const char* data) {
  const std::string_view head(data, strnlen(data, 2048));
  const size_t target = head.find(".target sm_");
  if (target == std::string_view::npos) return {};
  unsigned architecture = 0;
  const auto read = std::from_chars(head.data() + target + 11, head.data() + head.size(), architecture);
  return read.ec == std::errc{} ? std::vector<Image>{{true, architecture}} : std::vector<Image>{};
}

bool runs_on(const Image& image, unsigned card) {
  if (image.is_ptx) return image.architecture <= card;
  return image.architecture / 10 == card / 10 && image.architecture <= card;
}

}  // namespace

std::vector<Image> images_of(const void* data) {
  if (data == nullptr) return {};
  const auto* bytes = static_cast<const char*>(data);
  if (read_header<uint32_t>(bytes) == kWrapperMagic) {
    bytes = static_cast<const char*>(read_header<Wrapper>(bytes).data);
    if (bytes == nullptr) return {};
  }
  switch (read_header<uint32_t>(bytes)) {
    case kContainerMagic:
      return images_in_container(bytes);
    case kElfMagic:
      return {image_of_elf(bytes)};
    default:
      return images_in_ptx(bytes);
  }
}

bool runs_on(const std::vector<Image>& images, int major, int minor) {
  const auto card = static_cast<unsigned>(10 * major + minor);
  return std::ranges::any_of(images, [&](const Image& image) { return runs_on(image, card); });
}

Build build_for(const std::vector<Image>& images, int major, int minor) {
  const auto card = static_cast<unsigned>(10 * major + minor);
  unsigned code = 0, ptx = 0;
  for (const Image& image : images) {
    if (!runs_on(image, card)) continue;
    unsigned& newest = image.is_ptx ? ptx : code;
    newest = std::max(newest, image.architecture);
  }
  if (code != 0) return {code, code};
  return {ptx != 0 ? ptx : card, card};
}

}  // namespace vramfit::device
