#include "job/interpreter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/temporary_file.h"

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;
using base::Environment;
using base::ErrorCode;
using base::fail;
using base::Result;

// Writes its answer to the file in argv[1], because a sitecustomize may print. It imports nothing but what is built in:
// a json.py or types.py of the user's, in the current folder or where PYTHONPATH points, would be taken for Python's.
// The current folder, which -c puts first on the path and a script's own start doesn't, is no place to look for PyTorch
// in; what PYTHONPATH names is.
constexpr std::string_view kInterpreterQuestion = R"(import sys
sys.path[:] = [p for p in sys.path if p]
def find(name):
    for finder in sys.meta_path:
        spec = finder.find_spec(name, None) if hasattr(finder, "find_spec") else None
        if spec:
            return spec
def quoted(text):
    return '"' + "".join("\\u%04x" % ord(c) if c < " " or c in '"\\' else c for c in text) + '"'
spec = find("torch")
folders = list(spec.submodule_search_locations or []) if spec and spec.origin else []
answer = '{"executable": %s, "version": %s, "torch": [%s]}' % (
    quoted(sys.executable), quoted(sys.version.split()[0]), ", ".join(map(quoted, folders[:1])))
with open(sys.argv[1], "wb") as file:
    file.write(answer.encode("utf-8", "surrogateescape"))
)";

std::optional<std::string> variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

bool is_executable(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

// "python", "python3", "python3.11", "pypy3" and the like, whatever folder they are in.
bool is_python_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string::npos;
}

// An active virtual environment counts even where its bin folder is not on the PATH (as under `uv run`).
std::optional<fs::path> find_program(const std::string& name, const Environment& environment) {
  if (name.find('/') == std::string::npos) {
    if (const auto active = variable(environment, "VIRTUAL_ENV")) {
      const fs::path inside = fs::path(*active) / "bin" / name;
      if (is_executable(inside)) return inside;
    }
  }
  return base::find_program(name, environment);
}

std::optional<fs::path> find_any_python(const Environment& environment) {
  for (const char* name : {"python", "python3"}) {
    if (auto found = find_program(name, environment)) return found;
  }
  return std::nullopt;
}

// The interpreter a script's first lines name: "#!/path/python", "#!/usr/bin/env python3", and pip's form for long
// paths, "#!/bin/sh" followed by "'''exec' '/long/path/python' ...".
std::optional<fs::path> read_shebang(const fs::path& script, const Environment& environment) {
  std::ifstream stream(script, std::ios::binary);
  std::array<std::string, 2> lines;
  for (std::string& line : lines) {
    line.resize(1024);
    stream.getline(line.data(), static_cast<std::streamsize>(line.size()));
    line.resize(std::char_traits<char>::length(line.c_str()));
    if (stream.fail()) stream.clear(), stream.setstate(std::ios::eofbit);
  }
  if (!lines[0].starts_with("#!")) return std::nullopt;
  const std::string text = lines[1].starts_with("'''exec'") ? lines[1].substr(8) : lines[0].substr(2);
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r", at)) != std::string::npos) {
    const bool is_quoted = text[at] == '\'' || text[at] == '"';
    const std::size_t begin = is_quoted ? at + 1 : at;
    const std::size_t end =
        std::min(is_quoted ? text.find(text[at], begin) : text.find_first_of(" \t\r", begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (is_python_name(word)) return word.find('/') == std::string::npos ? find_program(word, environment) : word;
    at = is_quoted ? end + 1 : end;
  }
  return std::nullopt;
}

// The value in `name: Optional[str] = 'value'` or `name = 'value'` at the start of a line; None and absence are empty.
std::string read_assignment(const std::string& text, const std::string& name) {
  std::size_t at = text.starts_with(name) ? 0 : text.find("\n" + name);
  while (at != std::string::npos) {
    const std::size_t line = text[at] == '\n' ? at + 1 : at;
    const char after = line + name.size() < text.size() ? text[line + name.size()] : '\n';
    if (after == ' ' || after == ':' || after == '=') {
      const std::size_t end = std::min(text.find('\n', line), text.size());
      const std::size_t equals = text.find('=', line);
      if (equals >= end) return {};
      const std::size_t open = text.find_first_of("'\"", equals);
      if (open >= end) return {};
      const std::size_t close = text.find(text[open], open + 1);
      return close >= end ? std::string{} : text.substr(open + 1, close - open - 1);
    }
    at = text.find("\n" + name, line);
  }
  return {};
}

// One "sm_NN" or "sm_NNa" at `at`; moves past it. Capabilities are major * 10 + minor.
std::optional<model::ComputeCapability> take_architecture(std::string_view bytes, std::size_t& at) {
  if (!bytes.substr(at).starts_with("sm_")) return std::nullopt;
  std::size_t end = at + 3;
  int number = 0;
  while (end < bytes.size() && end < at + 6 && std::isdigit(static_cast<unsigned char>(bytes[end]))) {
    number = number * 10 + (bytes[end++] - '0');
  }
  if (number < 10) return std::nullopt;
  if (end < bytes.size() && (bytes[end] == 'a' || bytes[end] == 'f')) ++end;
  at = end;
  return model::ComputeCapability{number / 10, number % 10};
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1,
                     end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

// The Python in `env DEBUG=1 nice python train.py` or `timeout 1h torchrun train.py`.
std::optional<fs::path> find_behind(const std::vector<std::string>& command, const Environment& environment) {
  constexpr std::size_t kMostWords = 16;
  for (std::size_t i = 1; i < std::min(command.size(), kMostWords); ++i) {
    if (command[i].starts_with('-') || command[i].contains('=')) continue;
    const auto program = find_program(command[i], environment);
    if (!program) continue;
    if (is_python_name(*program)) return program;
    if (const auto named = read_shebang(*program, environment)) return named;
  }
  return std::nullopt;
}

}  // namespace

Result<CommandShape> find_interpreter(const std::vector<std::string>& command, const Environment& environment) {
  if (command.empty())
    return fail(ErrorCode::kUsage, "there is no command", {}, "vramfit run --gpu CARD -- python train.py");
  const auto program = find_program(command[0], environment);
  if (!program) {
    const bool is_script = command[0].ends_with(".py");
    return fail(ErrorCode::kNotFound, fmt::format("{} is not a program that can be started", command[0]), {},
                is_script ? fmt::format("name the interpreter: -- python {}", command[0])
                          : "give its path, or activate the environment it is in");
  }
  if (is_python_name(*program)) return CommandShape{*program, *program};
  if (const auto named = read_shebang(*program, environment)) return CommandShape{*program, *named, true};
  auto guess = find_behind(command, environment);
  if (!guess) guess = find_any_python(environment);
  if (!guess) return fail(ErrorCode::kNotFound, "there is no python on the PATH", command[0]);
  return CommandShape{*program, *guess, false, true};
}

Result<Interpreter> inspect_interpreter(const fs::path& interpreter, const Environment& environment) {
  const base::TemporaryFile answer("interpreter"), complaints("interpreter");
  if (!answer || !complaints) {
    return base::fail_errno("no temporary file can be made", fs::temp_directory_path().string());
  }
  base::Launch launch;
  launch.argv = {interpreter.string(), "-c", std::string(kInterpreterQuestion), answer.path().string()};
  launch.environment = environment;
  launch.output = complaints.path();
  launch.timeout_seconds = 60;
  const auto ended = base::run_to_end(launch, {});
  if (!ended) return std::unexpected(ended.error());
  if (ended->interrupted) return fail(ErrorCode::kInterrupted, "interrupted");
  const auto text = base::read_file(answer.path());
  const auto parsed = nlohmann::json::parse(text.value_or(""), nullptr, false);
  if (ended->shell_code() != 0 || !parsed.is_object() || !parsed.contains("executable")) {
    const std::string said = last_line(base::read_file(complaints.path()).value_or(""));
    return fail(ErrorCode::kNotFound, fmt::format("{} is no working Python 3 interpreter", interpreter.string()), said,
                "name another one: -- /path/to/python ...");
  }
  Interpreter found;
  found.program = parsed.value("executable", interpreter.string());
  found.python = parsed.value("version", "");
  const auto folders = parsed.value("torch", std::vector<std::string>{});
  if (folders.empty()) return found;
  if (const auto read = read_torch(folders.front(), found); !read) return std::unexpected(read.error());
  return found;
}

Result<void> read_torch(const fs::path& folder, Interpreter& interpreter) {
  const auto text = base::read_file(folder / "version.py");
  if (!text) {
    return fail(ErrorCode::kCorrupt, "this torch has no version.py: it may be half installed", folder.string(),
                "install torch again in that environment");
  }
  interpreter.torch_folder = folder;
  interpreter.torch = read_assignment(*text, "__version__");
  interpreter.cuda = read_assignment(*text, "cuda");
  if (interpreter.torch.empty()) {
    return fail(ErrorCode::kCorrupt, "no __version__ in torch/version.py", (folder / "version.py").string());
  }
  if (const auto library = base::MappedFile::open(folder / "lib" / "libtorch_python.so")) {
    const auto bytes = (*library)->bytes();
    interpreter.architectures = parse_architectures({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return {};
}

std::vector<model::ComputeCapability> parse_architectures(std::string_view bytes) {
  std::vector<model::ComputeCapability> longest;
  for (std::size_t at = bytes.find("sm_"); at != std::string_view::npos; at = bytes.find("sm_", at)) {
    std::vector<model::ComputeCapability> list;
    std::size_t next = at;
    while (const auto found = take_architecture(bytes, next)) {
      list.push_back(*found);
      if (next >= bytes.size() || bytes[next] != ' ') break;
      ++next;
    }
    if (list.size() > longest.size()) longest = list;
    at = std::max(next, at + 3);
  }
  return longest;
}

bool has_kernels_for(const std::vector<model::ComputeCapability>& architectures, model::ComputeCapability card) {
  return std::ranges::any_of(architectures, [card](const model::ComputeCapability& built) {
    return built.major == card.major && built.minor <= card.minor;
  });
}

}  // namespace vramfit::job
