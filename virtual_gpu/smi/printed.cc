#include "virtual_gpu/smi/printed.h"

#include <sys/time.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace vramfit::smi {

std::string printed(const char* format, ...) {
  std::array<char, 1024> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string left(const std::string& text, size_t width) {
  return text.size() >= width ? text.substr(0, width) : text + std::string(width - text.size(), ' ');
}

std::string right(const std::string& text, size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}

std::string date_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

std::string timestamp_now() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return date_now("%Y/%m/%d %H:%M:%S") + printed(".%03d", static_cast<int>(now.tv_usec / 1000));
}

}  // namespace vramfit::smi
