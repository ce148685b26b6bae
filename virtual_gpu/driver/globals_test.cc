// Variables of a module, through the driver's public interface, from a cubin that has a symbol table and nothing else.
#include <cuda.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "virtual_gpu/testing/driver_context.h"

namespace {

// header | symbols | names | three section headers: none, symbols, names
struct Cubin {
  static constexpr char kNames[] = "\0table\0kernel";
  Elf64_Ehdr header = {};
  std::array<Elf64_Sym, 3> symbols = {};
  std::array<char, sizeof kNames> names = {};
  std::array<Elf64_Shdr, 3> sections = {};

  Cubin() {
    int major = 0, minor = 0;
    EXPECT_EQ(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0), CUDA_SUCCESS);
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_flags = static_cast<Elf64_Word>(10 * major + minor);
    header.e_shoff = offsetof(Cubin, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    symbols[1] = {.st_name = 1,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                  .st_other = 0,
                  .st_shndx = 1,
                  .st_value = 0,
                  .st_size = 4096};
    symbols[2] = {.st_name = 7,
                  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                  .st_other = 0,
                  .st_shndx = 1,
                  .st_value = 0,
                  .st_size = 64};
    std::memcpy(names.data(), kNames, sizeof kNames);
    sections[1] = {.sh_type = SHT_SYMTAB,
                   .sh_offset = offsetof(Cubin, symbols),
                   .sh_size = sizeof symbols,
                   .sh_link = 2,
                   .sh_entsize = sizeof(Elf64_Sym)};
    sections[2] = {.sh_type = SHT_STRTAB, .sh_offset = offsetof(Cubin, names), .sh_size = sizeof names};
  }
};

class ModuleVariables : public vramfit::testing::DriverContext {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(DriverContext::SetUp());
    const Cubin cubin;
    ASSERT_EQ(cuModuleLoadData(&module_, &cubin), CUDA_SUCCESS);
  }
  CUmodule module_ = nullptr;
};

TEST_F(ModuleVariables, handles_that_nobody_has_are_refused) {
  int nobody = 0;
  CUmodule module = nullptr;
  EXPECT_EQ(cuLibraryGetModule(&module, reinterpret_cast<CUlibrary>(&nobody)), CUDA_ERROR_INVALID_HANDLE);
  unsigned version = 1;
  EXPECT_EQ(cuCtxGetApiVersion(reinterpret_cast<CUcontext>(&nobody), &version), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuCtxGetApiVersion(nullptr, &version), CUDA_SUCCESS);
}

TEST_F(ModuleVariables, have_the_size_that_the_cubin_says_and_memory_that_can_be_written) {
  CUdeviceptr address = 0, again = 0;
  size_t bytes = 0;
  ASSERT_EQ(cuModuleGetGlobal(&address, &bytes, module_, "table"), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 4096u);
  ASSERT_EQ(cuModuleGetGlobal(&again, nullptr, module_, "table"), CUDA_SUCCESS);
  EXPECT_EQ(again, address);
  const std::array<int, 4> given{1, 2, 3, 4};
  std::array<int, 4> read{};
  ASSERT_EQ(cuMemcpyHtoD(address, given.data(), sizeof given), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoH(read.data(), address, sizeof read), CUDA_SUCCESS);
  EXPECT_EQ(read, given);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
}

TEST_F(ModuleVariables, of_what_is_no_linker_nothing_is_read) {
  auto* const none = reinterpret_cast<CUlinkState>(0x1234560);
  char data[4] = "ptx";
  void* cubin = nullptr;
  size_t bytes = 0;
  EXPECT_EQ(cuLinkAddData(none, CU_JIT_INPUT_PTX, data, sizeof data, "", 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLinkComplete(none, &cubin, &bytes), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuLinkDestroy(none), CUDA_ERROR_INVALID_HANDLE);
  CUlinkState link = nullptr;
  ASSERT_EQ(cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkAddData(link, CU_JIT_INPUT_PTX, data, sizeof data, "", 0, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkComplete(link, &cubin, &bytes), CUDA_SUCCESS);
  EXPECT_STREQ(static_cast<const char*>(cubin), "ptx");
  EXPECT_EQ(cuLinkDestroy(link), CUDA_SUCCESS);
  EXPECT_EQ(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ModuleVariables, that_are_not_there_are_not_found) {
  CUdeviceptr address = 7;
  size_t bytes = 7;
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module_, "kernel"), CUDA_ERROR_NOT_FOUND) << "it is code";
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module_, "other"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(address, 0u);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(cuModuleUnload(module_), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetGlobal(&address, &bytes, module_, "table"), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
