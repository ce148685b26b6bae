#include "job/testing/fake_python.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>

namespace vramfit::job::testing {
namespace {

namespace fs = std::filesystem;

// clang-format off
constexpr std::string_view kFakePython = R"sh(#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
case "$2" in
venv)
  mkdir -p "$3/bin" && cp "$here/$(basename "$0")" "$3/bin/python" ;;
pip)
  echo "$*" >> "$here/../pip.txt"
  [ "$FAKE_TORCH" = none ] && { echo "ERROR: no matching distribution" >&2; exit 1; }
  mkdir -p "$here/../torch"
  case "$*" in *torch===*) FAKE_TORCH="${FAKE_EXACT_TORCH:-$FAKE_TORCH}" ;; esac
  cuda="'13.0'"; case "$FAKE_TORCH" in *+cpu) cuda=None ;; esac
  printf "__version__ = '%s'\ncuda: Optional[str] = %s\n" "$FAKE_TORCH" "$cuda" > "$here/../torch/version.py" ;;
*)
  torch=; [ -d "$here/../torch" ] && torch="\"$(cd "$here/.." && pwd)/torch\""
  printf '{"executable": "%s", "version": "VERSION", "torch": [%s]}' "$here/$(basename "$0")" "$torch" > "$3" ;;
esac
)sh";
// clang-format on

}  // namespace

FakeMachine::FakeMachine() {
  std::string name = (fs::temp_directory_path() / "vramfit.test.XXXXXX").string();
  root_ = fs::canonical(mkdtemp(name.data()));
  fs::create_directories(root_ / "bin");
}

FakeMachine::~FakeMachine() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

base::Environment FakeMachine::environment() const {
  return {{"PATH", (root_ / "bin").string()},
          {"HOME", root_.string()},
          {"VRAMFIT_CACHE", (root_ / "cache").string()},
          {"FAKE_TORCH", "2.12.1+cu130"}};
}

void FakeMachine::add_script(const std::string& path, const std::string& text) const {
  fs::create_directories((root_ / path).parent_path());
  std::ofstream(root_ / path) << text;
  fs::permissions(root_ / path, fs::perms::owner_all);
}

void FakeMachine::add_python(const std::string& path, const std::string& version) const {
  std::string text(kFakePython);
  text.replace(text.find("VERSION"), std::string_view("VERSION").size(), version);
  // The tools the script itself needs are not on the fake machine's PATH.
  text.insert(text.find('\n') + 1, "export PATH=\"$PATH:/usr/bin:/bin\"\n");
  add_script(path, text);
}

void FakeMachine::add_torch(const std::string& folder, const std::string& version, const std::string& cuda,
                            std::string_view library) const {
  fs::create_directories(root_ / folder / "lib");
  std::ofstream(root_ / folder / "version.py") << fmt::format(
      "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda']\n__version__ = '{}'\n"
      "debug = False\ncuda: Optional[str] = {}\nhip: Optional[str] = None\n",
      version, cuda);
  std::ofstream(root_ / folder / "lib" / "libtorch_python.so", std::ios::binary) << library;
}

}  // namespace vramfit::job::testing
