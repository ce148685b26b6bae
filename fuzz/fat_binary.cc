// Images of kernels as libraries register them. A container names its own size, which a loader has mapped: that and its
// magic are set right here, and everything in it is the input's. An ELF has at least its header, PTX ends with a zero.
#include "virtual_gpu/device/fat_binary.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kContainerHeader = 16, kElfHeader = 52;

std::vector<std::uint8_t> as_container(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kMagic = 0xba55ed50;
  constexpr std::uint16_t kVersion = 1, kHeaderBytes = kContainerHeader;
  const std::uint64_t bytes = size;
  std::vector<std::uint8_t> container(kContainerHeader + size);
  std::memcpy(container.data(), &kMagic, sizeof kMagic);
  std::memcpy(container.data() + 4, &kVersion, sizeof kVersion);
  std::memcpy(container.data() + 6, &kHeaderBytes, sizeof kHeaderBytes);
  std::memcpy(container.data() + 8, &bytes, sizeof bytes);
  if (size != 0) std::memcpy(container.data() + kContainerHeader, data, size);
  return container;
}

std::vector<std::uint8_t> as_elf(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> elf(data, data + size);
  elf.resize(elf.size() < kElfHeader ? kElfHeader : elf.size());
  std::memcpy(elf.data(), "\x7f\x45LF", 4);
  return elf;
}

std::vector<std::uint8_t> as_ptx(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> ptx(4, '/');
  ptx.insert(ptx.end(), data, data + size);
  ptx.push_back(0);
  return ptx;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace device = vramfit::device;
  for (const auto& form : {as_container(data, size), as_elf(data, size), as_ptx(data, size)}) {
    const auto images = device::images_of(form.data());
    static_cast<void>(device::runs_on(images, 8, 6));
    static_cast<void>(device::build_for(images, 9, 0));
  }
  return 0;
}
