#include "job/python_command.h"

#include <filesystem>

namespace vramfit::job {

std::optional<PythonCommand> parse_python_command(const std::vector<std::string>& command) {
  if (command.empty() || !std::filesystem::path(command[0]).filename().string().starts_with("python"))
    return std::nullopt;
  PythonCommand parsed;
  parsed.python = command[0];
  std::size_t i = 1;
  for (; i < command.size() && command[i].size() > 1 && command[i][0] == '-'; ++i) {
    const std::string& flag = command[i];
    if (flag == "-m") {
      parsed.is_module = true;
      ++i;
      break;
    }
    if (flag[1] == 'c' || flag == "--version" || flag == "--help" || flag == "-V" || flag == "-h") return std::nullopt;
    if (flag[1] == 'm') return std::nullopt;  // -mpackage: rare, and the cold way understands it
    parsed.flags.push_back(flag);
    const bool takes_word = flag == "-X" || flag == "-W" || flag == "--check-hash-based-pycs";
    if (takes_word && i + 1 < command.size()) parsed.flags.push_back(command[++i]);
  }
  if (i >= command.size() || command[i] == "-") return std::nullopt;
  parsed.argv.assign(command.begin() + static_cast<std::ptrdiff_t>(i), command.end());
  return parsed;
}

}  // namespace vramfit::job
