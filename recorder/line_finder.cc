#include "line_finder.h"

#include <dlfcn.h>
#include <unistd.h>

#include <climits>

namespace vramfit::recorder {

namespace {

size_t mix(const void* a, const void* b) {
  uint64_t key = reinterpret_cast<uintptr_t>(a) * 0x9E3779B97F4A7C15ull;
  key ^= (reinterpret_cast<uintptr_t>(b) >> 1) * 0xC2B2AE3D27D4EB4Full;
  return static_cast<size_t>(key >> 40);
}

std::string current_folder() {
  char path[PATH_MAX];
  return getcwd(path, sizeof path) != nullptr ? std::string(path) + "/" : std::string();
}

}  // namespace

std::string find_hooks_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_hooks_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string path = info.dli_fname;
  const size_t lib = path.rfind("/lib/");
  return lib == std::string::npos ? std::string() : path.substr(0, lib) + "/python/";
}

LineFinder::LineFinder(Intern intern)
    : intern_(std::move(intern)), hooks_folder_(find_hooks_folder()), start_folder_(current_folder()) {}

Whose LineFinder::whose(const void* code) {
  const void* file = frames_.file_identity(code);
  Code& entry = codes_[mix(code, nullptr) % kCodes];
  if (entry.code != code || entry.file != file) entry = {code, file, whose_code(frames_.file(code), hooks_folder_)};
  return entry.whose;
}

uint32_t LineFinder::place_text(const PythonFrames::Site& site) {
  const void* file = frames_.file_identity(site.code);
  Place& entry = places_[mix(site.code, site.instruction) % kPlaces];
  if (entry.site.code != site.code || entry.site.instruction != site.instruction || entry.file != file) {
    const std::string text =
        line_text(frames_.file(site.code), frames_.line(site), frames_.function(site.code), start_folder_);
    entry = {site, file, intern_(text)};
  }
  return entry.text;
}

uint32_t LineFinder::find(Whose wanted) {
  if (!frames_.ready()) return 0;
  const std::lock_guard guard(lock_);
  PythonFrames::Frame frame = frames_.innermost();
  for (int depth = 0; frame != nullptr && depth < kMaxDepth; ++depth, frame = frames_.outer(frame)) {
    const PythonFrames::Site site = frames_.site(frame);
    if (site.code != nullptr && whose(site.code) == wanted) return place_text(site);
  }
  return 0;
}

}  // namespace vramfit::recorder
