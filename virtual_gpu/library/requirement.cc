#include "virtual_gpu/library/requirement.h"

#include <link.h>

#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

namespace vramfit::library {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kField = "Requires-Dist: ";

bool names_package(std::string_view requirement, std::string_view package) {
  if (!requirement.starts_with(package)) return false;
  requirement.remove_prefix(package.size());
  if (requirement.starts_with("-cu")) return true;  // nvidia-cudnn-cu12==...
  return requirement.empty() ||
         (std::isalnum(static_cast<unsigned char>(requirement.front())) == 0 && requirement.front() != '-');
}

std::optional<Version> parse_version(std::string_view text) {
  Version version{};
  size_t part = 0;
  while (part < version.size()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[part]);
    if (error != std::errc{}) break;
    ++part;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (!text.starts_with('.')) break;
    text.remove_prefix(1);
  }
  return part >= 2 ? std::optional(version) : std::nullopt;
}

int find_torch(dl_phdr_info* object, size_t, void* out) {
  const std::string_view path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
  if (!path.ends_with("/torch/lib/libtorch_cuda.so") && !path.ends_with("/torch/lib/libtorch_cpu.so")) return 0;
  *static_cast<std::string*>(out) = path;
  return 1;
}

// The METADATA of the torch whose library is loaded; empty when it cannot be found.
std::string torch_metadata() {
  std::string library;
  dl_iterate_phdr(&find_torch, &library);
  if (library.empty()) return {};
  const fs::path packages = fs::path(library).parent_path().parent_path().parent_path();
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(packages, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("torch-") || !name.ends_with(".dist-info")) continue;
    std::ifstream file(entry.path() / "METADATA");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  return {};
}

}  // namespace

std::optional<Version> parse_requirement(std::string_view metadata, std::string_view package) {
  while (!metadata.empty()) {
    const size_t end = metadata.find('\n');
    std::string_view line = metadata.substr(0, end);
    metadata.remove_prefix(end == std::string_view::npos ? metadata.size() : end + 1);
    if (!line.starts_with(kField)) continue;
    line.remove_prefix(kField.size());
    if (!names_package(line, package)) continue;
    line = line.substr(0, line.find(';'));
    size_t at = line.find(">=");
    if (at == std::string_view::npos) at = line.find("==");
    if (at == std::string_view::npos) continue;
    return parse_version(line.substr(at + 2));
  }
  return std::nullopt;
}

std::optional<Version> required_version(std::string_view package) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<Version>, std::less<>> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(package);
  if (found != known.end()) return found->second;
  const auto version = parse_requirement(torch_metadata(), package);
  return known.emplace(std::string(package), version).first->second;
}

}  // namespace vramfit::library
