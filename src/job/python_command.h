// A command line of Python, taken apart: what a warm process needs to run the same in a fork of itself.
#ifndef VRAMFIT_JOB_PYTHON_COMMAND_H
#define VRAMFIT_JOB_PYTHON_COMMAND_H

#include <optional>
#include <string>
#include <vector>

namespace vramfit::job {

struct PythonCommand {
  std::string python;
  std::vector<std::string> flags;  // -u, -X dev ...: the warm interpreter is started with them
  bool is_module = false;          // -m
  std::vector<std::string> argv;   // script or module, then its arguments
  friend bool operator==(const PythonCommand&, const PythonCommand&) = default;
};

// Nothing for what can't be run that way: -c, a script on stdin, a program that is not a Python.
std::optional<PythonCommand> parse_python_command(const std::vector<std::string>& command);

}  // namespace vramfit::job

#endif
