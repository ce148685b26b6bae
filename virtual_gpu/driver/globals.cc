#include "virtual_gpu/driver/globals.h"

#include <elf.h>

#include <cstring>

#include "virtual_gpu/device/device.h"
#include "virtual_gpu/device/memory.h"
#include "virtual_gpu/device/ranges.h"

namespace vramfit::driver {
namespace {

template <typename Header>
Header read_at(const char* image, size_t offset) {
  Header header;
  std::memcpy(&header, image + offset, sizeof header);
  return header;
}

}  // namespace

Globals::Globals(const void* data) {
  const char* image = static_cast<const char*>(data);
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0 || image[EI_CLASS] != ELFCLASS64) return;
  const auto file = read_at<Elf64_Ehdr>(image, 0);
  const auto section = [&](size_t index) {
    return read_at<Elf64_Shdr>(image, file.e_shoff + index * file.e_shentsize);
  };
  for (size_t i = 0; i < file.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= file.e_shnum || table.sh_entsize == 0) continue;
    const Elf64_Shdr names = section(table.sh_link);
    for (size_t at = 0; at + table.sh_entsize <= table.sh_size; at += table.sh_entsize) {
      const auto symbol = read_at<Elf64_Sym>(image, table.sh_offset + at);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= names.sh_size) continue;
      variables_[image + names.sh_offset + symbol.st_name].bytes = symbol.st_size;
    }
  }
}

bool Globals::Variable::is_there() const {
  const auto found = device::find_allocation(address);
  return found && found->id == allocation;
}

Globals::~Globals() {
  for (const auto& [name, variable] : variables_) {
    if (variable.is_there()) device::release_device(variable.address);
  }
}

CUresult Globals::find(const char* name, CUdeviceptr* address, size_t* bytes) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return CUDA_ERROR_NOT_FOUND;
  Variable& variable = found->second;
  if (!variable.is_there()) {
    const size_t size = variable.bytes == 0 ? 1 : variable.bytes;
    const auto error = device::allocate_device(ledger::current_card(), size, &variable.address);
    if (error != device::Error::kNone) return answer(error);
    variable.allocation = device::find_allocation(variable.address)->id;
  }
  if (address != nullptr) *address = reinterpret_cast<CUdeviceptr>(variable.address);
  if (bytes != nullptr) *bytes = variable.bytes;
  return CUDA_SUCCESS;
}

}  // namespace vramfit::driver
