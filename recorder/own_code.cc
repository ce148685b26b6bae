#include "own_code.h"

namespace vramfit::recorder {

namespace {

// ".../lib/python3.11/random.py", but not "/home/me/lib/python3/train.py": the version has a dot.
bool is_in_standard_library(std::string_view file) {
  constexpr std::string_view kFolder = "/lib/python3.";
  for (size_t at = file.find(kFolder); at != std::string_view::npos; at = file.find(kFolder, at + 1)) {
    const size_t digits = at + kFolder.size();
    size_t end = digits;
    while (end < file.size() && file[end] >= '0' && file[end] <= '9') ++end;
    if (end < file.size() && file[end] == 't') ++end;  // a free-threaded build
    if (end > digits && end < file.size() && file[end] == '/') return true;
  }
  return false;
}

}  // namespace

bool is_own_code(std::string_view file, std::string_view hooks_folder) {
  if (file.empty() || file.front() == '<') return false;
  if (!hooks_folder.empty() && file.starts_with(hooks_folder)) return false;
  for (const std::string_view installed :
       {"/site-packages/", "/dist-packages/", "/torchinductor_", "/torch_geometric.nn."}) {
    if (file.find(installed) != std::string_view::npos) return false;
  }
  return !is_in_standard_library(file);
}

std::string line_text(std::string_view file, int line, std::string_view function, std::string_view folder) {
  if (!folder.empty() && file.starts_with(folder)) file.remove_prefix(folder.size());
  while (file.starts_with("./")) file.remove_prefix(2);
  std::string text(file);
  text += ':';
  text += std::to_string(line);
  if (!function.empty()) {
    text += " in ";
    text += function;
  }
  return text;
}

}  // namespace vramfit::recorder
