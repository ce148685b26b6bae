// Keeps vramfit's hooks on Python's path. They come in by PYTHONPATH, and many a job sets one of its own
// (`PYTHONPATH=. python train.py`, a launcher's shell script), which would leave a run without phases, owners and cuts.
#include <cstdlib>
#include <string>
#include <string_view>

#include "recorder.h"

namespace vramfit::recorder {

bool keep_hooks() {
  const char* hooks = std::getenv("VRAMFIT_HOOKS");
  if (hooks == nullptr || *hooks == '\0') return false;
  const char* path = std::getenv("PYTHONPATH");
  if (path == nullptr) path = "";
  if (std::string_view(path).find(hooks) != std::string_view::npos) return false;
  const std::string kept = *path == '\0' ? std::string(hooks) : std::string(hooks) + ':' + path;
  return setenv("PYTHONPATH", kept.c_str(), 1) == 0;
}

}  // namespace vramfit::recorder

namespace {
// Runs before main(), and so before Python looks.
[[gnu::constructor]] void before_main() { vramfit::recorder::keep_hooks(); }
}  // namespace
