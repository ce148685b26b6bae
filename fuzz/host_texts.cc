// What the kernel says of processes and mounts, and scripts of what NVML shall answer: the first byte chooses the
// reader.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "chosen_reader.h"
#include "isolate/mount_table.h"
#include "probe/proc_text.h"
#include "recorder/python_offsets.h"
#include "virtual_gpu/nvml/script.h"

namespace {

void read_mounts(std::string_view text) {
  for (const vramfit::isolate::Mount& mount : vramfit::isolate::parse_mounts(text)) {
    static_cast<void>(vramfit::isolate::is_kernel_interface(mount.type));
    vramfit::fuzz::require(!vramfit::isolate::lies_below(mount.point, mount.point));
  }
}

void read_process(std::string_view text) {
  namespace probe = vramfit::probe;
  static_cast<void>(probe::parse_stat(text));
  static_cast<void>(probe::find_amount(text, "VmRSS"));
  static_cast<void>(probe::parse_command(text));
  static_cast<void>(probe::find_variable(text, "CUDA_VISIBLE_DEVICES"));
  static_cast<void>(probe::parse_belonging(text));
  static_cast<void>(probe::parse_memory_group(text));
  static_cast<void>(probe::find_rank(text));
}

void read_script(std::string_view text) {
  for (const auto& [card, scripted] : vramfit::nvml::parse_script(text).cards) {
    static_cast<void>(scripted.extra_bytes());
    static_cast<void>(scripted.reading("utilization"));
    vramfit::fuzz::require(scripted.slices.size() <= vramfit::nvml::kMostSlices);
  }
}

void read_offsets(std::string_view text) {
  std::vector<std::uint64_t> words(text.size() / sizeof(std::uint64_t));
  if (!words.empty()) std::memcpy(words.data(), text.data(), words.size() * sizeof(std::uint64_t));
  static_cast<void>(vramfit::recorder::read_python_offsets(words));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(
      data, size, {{'m', read_mounts}, {'p', read_process}, {'n', read_script}, {'o', read_offsets}});
}
