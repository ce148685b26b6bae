#include "own_code.h"

#include <unistd.h>

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

// "torchtune/modules/attention.py" of an installed file; empty for others.
std::string_view path_among_packages(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const size_t at = file.rfind(folder); at != std::string_view::npos) return file.substr(at + folder.size());
  }
  return {};
}

bool is_pytorch(std::string_view path_among_packages) {
  const std::string_view package = path_among_packages.substr(0, path_among_packages.find('/'));
  return package == "torch" || package == "functorch" || package == "triton";
}

// ".../bin/tune": what pip puts beside the interpreter to start a program that a package brings.
bool starts_a_program(std::string_view file) {
  const size_t slash = file.rfind('/');
  if (slash == std::string_view::npos || file.find('.', slash) != std::string_view::npos) return false;
  const std::string beside = std::string(file.substr(0, slash)) + "/python3";
  return access(beside.c_str(), X_OK) == 0;
}

}  // namespace

Whose whose_code(std::string_view file, std::string_view hooks_folder) {
  if (file.empty() || file.front() == '<') return Whose::kMachinery;
  if (!hooks_folder.empty() && file.starts_with(hooks_folder)) return Whose::kMachinery;
  for (const std::string_view generated : {"/torchinductor_", "/torch_geometric.nn."}) {
    if (file.find(generated) != std::string_view::npos) return Whose::kMachinery;
  }
  if (const std::string_view path = path_among_packages(file); !path.empty()) {
    return is_pytorch(path) ? Whose::kMachinery : Whose::kPackage;
  }
  return is_in_standard_library(file) || starts_a_program(file) ? Whose::kMachinery : Whose::kUsers;
}

std::string line_text(std::string_view file, int line, std::string_view function, std::string_view folder) {
  if (const std::string_view path = path_among_packages(file); !path.empty()) file = path;
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
