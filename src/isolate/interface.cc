// What the warm process calls in a fork of itself, by ctypes (python/vramfit/layer.py).
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "isolate/layer.h"
#include "isolate/supervised/session.h"
#include "vramfit/hook_functions.h"

// 0, or 1 with the reason in `error` (at most `size` bytes, ended by a zero).
extern "C" [[gnu::visibility("default")]] int vramfit_enter_layer(const char* spec, char* error, std::size_t size) {
  using namespace vramfit;
  const auto parsed = isolate::parse_layer_spec(spec);
  const auto entered = parsed ? isolate::enter(*parsed) : std::unexpected(parsed.error());
  if (entered) return 0;
  const std::string text = to_string(entered.error());
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(error, text.data(), length);
  error[length] = '\0';
  return 1;
}
