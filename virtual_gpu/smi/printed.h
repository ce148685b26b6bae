// Pieces of text as nvidia-smi writes them.
#ifndef VRAMFIT_VIRTUAL_GPU_SMI_PRINTED_H
#define VRAMFIT_VIRTUAL_GPU_SMI_PRINTED_H

#include <optional>
#include <string>

namespace vramfit::smi {

// printf into a string.
__attribute__((format(printf, 1, 2))) std::string printed(const char* format, ...);

// `text` at the left of `width` cells, cut where it is longer; and at the right, whole.
std::string left(const std::string& text, size_t width);
std::string right(const std::string& text, size_t width);

std::string date_now(const char* format);  // of strftime, in local time
std::string timestamp_now();               // "2024/03/28 17:40:59.820"

template <typename Value, typename Print>
std::string or_na(const std::optional<Value>& value, Print print, const char* missing = "N/A") {
  return value ? print(*value) : std::string(missing);
}

}  // namespace vramfit::smi

#endif
