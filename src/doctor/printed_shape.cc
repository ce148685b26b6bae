#include "doctor/printed_shape.h"

#include <fmt/format.h>

#include <cstdlib>

namespace vramfit::doctor {

namespace {

constexpr Bytes kLeastRequest = Bytes::mib(256);
constexpr std::int64_t kMostElements = std::int64_t{1} << 46;

// "[30688, 151936]"; empty: it is none, or its product is no tensor's.
std::vector<std::int64_t> parse_sizes(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::int64_t product = 1;
  for (const char* at = text.c_str(); *at != '\0';) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    char* end = nullptr;
    const std::int64_t size = std::strtoll(at, &end, 10);
    at = end;
    if (size <= 0 || product > kMostElements / size) return {};
    product *= size;
    sizes.push_back(size);
  }
  return sizes;
}

std::int64_t product_of(const std::vector<std::int64_t>& sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

}  // namespace

std::string PrintedShape::describe() const {
  std::string text;
  for (const std::int64_t size : sizes) text += fmt::format("{} x ", size);
  return fmt::format("{}{} bytes = {}", text, width, show(Bytes(product_of(sizes) * width)));
}

std::optional<PrintedShape> find_printed_shape(const Scene& scene) {
  const Size& tried = scene.terms.tried;
  if (!tried || tried->value < kLeastRequest) return std::nullopt;
  for (const model::SettingSeen& seen : scene.texts.settings) {
    if (seen.name != "shape") continue;
    const std::vector<std::int64_t> sizes = parse_sizes(seen.value);
    if (sizes.size() < 2) continue;
    for (const std::int64_t width : {4, 2, 1, 8}) {
      const Bytes bytes(product_of(sizes) * width);
      const bool prints_so = tried->contains(bytes) || (scene.terms.tensor && scene.terms.tensor->contains(bytes));
      if (prints_so) return PrintedShape{seen.at, sizes, width};
    }
  }
  return std::nullopt;
}

}  // namespace vramfit::doctor
