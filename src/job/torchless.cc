#include "job/torchless.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file.h"
#include "base/temporary_file.h"
#include "job/python_command.h"

namespace vramfit::job {
namespace {

using base::Result;

// argv: where the answer goes, "file", "module" or "code", and the name of the one or the text of the other. What -c
// puts first on the path is taken off before anything is imported, as in interpreter.cc.
constexpr std::string_view kTorchlessQuestion = R"py(import sys
sys.path[:] = [p for p in sys.path if p]
import ast, importlib.metadata, importlib.util, json, os
answer, kind, subject = sys.argv[1:4]
FRAMEWORKS = ("jax", "tensorflow", "cupy", "paddle")
CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}

def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False

def packages():
    for found in importlib.metadata.distributions():
        yield (found.metadata["Name"] or "").lower().replace("_", "-"), found.version

def frameworks_and_cuda():
    named, cuda = {}, ""
    for name, version in packages():
        framework = name.partition("-")[0] if name.startswith("cupy-cuda") else name
        if framework in FRAMEWORKS and has(framework):
            named[framework] = f"{framework} {version}"
        if name == "nvidia-cuda-runtime" or name.startswith("nvidia-cuda-runtime-cu"):
            cuda = max(cuda, ".".join(version.split(".")[:2]))
    return [named.get(name, name) for name in FRAMEWORKS if has(name)], cuda

def can_fail(node):
    names = {n.id for h in node.handlers if h.type for n in ast.walk(h.type) if isinstance(n, ast.Name)}
    return bool(names & CAUGHT) or any(h.type is None for h in node.handlers)

def imports(node, folder):
    """(name, folder it is relative to or None) of each import that is not allowed to fail."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, None) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = folder
            for _ in range(child.level - 1):
                base = os.path.dirname(base)
            prefix, base = (child.module + "." if child.module else ""), (base if child.level else None)
            if child.module:
                yield child.module, base
            yield from ((prefix + alias.name, base) for alias in child.names)
        elif isinstance(child, ast.Try) and can_fail(child):
            for part in (*child.handlers, *child.orelse, *child.finalbody):
                yield from imports(part, folder)
        else:
            yield from imports(child, folder)

def own_file(name, folder):
    path = os.path.join(folder, *name.split("."))
    return next((p for p in (path + ".py", os.path.join(path, "__init__.py")) if os.path.isfile(p)), None)

def read(text, path, root):
    wanted, waiting, seen = set(), [(text, path)], {path}
    while waiting:
        text, path = waiting.pop()
        for name, base in imports(ast.parse(text), os.path.dirname(path)):
            first = name.partition(".")[0]
            own = own_file(name, base or root)
            if own is None and base is None and own_file(first, root) is None:
                wanted.add(first)
            if own and own not in seen and len(seen) < 300:
                seen.add(own)
                waiting.append((open(own, encoding="utf-8", errors="replace").read(), own))
    return wanted

def code():
    if kind == "code":
        return subject, "<string>", os.getcwd()
    path = subject
    if kind == "module":
        sys.path.insert(0, os.getcwd())
        spec = importlib.util.find_spec(subject)
        if spec and spec.submodule_search_locations:
            spec = importlib.util.find_spec(subject + ".__main__")
        path = spec.origin
    root = os.getcwd() if kind == "module" else os.path.dirname(os.path.realpath(path))
    return open(path, encoding="utf-8", errors="replace").read(), os.path.realpath(path), root

said = dict(zip(("frameworks", "cuda"), frameworks_and_cuda()))
try:
    text, path, root = code()
    wanted = read(text, path, root)
    own = {name for name in wanted if name in sys.builtin_module_names or has(name)}
    said.update(read=True, imported=sorted(wanted), missing=sorted(wanted - own))
except Exception:
    said["read"] = False
with open(answer, "w") as out:
    json.dump(said, out)
)py";

struct Subject {
  std::string kind, name;
};

// The code of the job. Nothing: it is a launcher or a shell script, or its code comes through a pipe.
Subject subject_of(const std::vector<std::string>& command) {
  if (const auto python = parse_python_command(command)) {
    return {python->is_module ? "module" : "file", python->argv.front()};
  }
  const auto code = std::ranges::find(command, "-c");
  if (code == command.end() || code + 1 == command.end()) return {"file", ""};
  return {"code", *(code + 1)};
}

std::vector<std::string> words_of(const nlohmann::json& said, const char* name) {
  return said.value(name, std::vector<std::string>{});
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<TorchlessLook> look_without_torch(const std::filesystem::path& interpreter,
                                         const std::vector<std::string>& command,
                                         const base::Environment& environment) {
  const base::TemporaryFile answer("imports"), complaints("imports");
  if (!answer || !complaints) {
    return base::fail_errno("no temporary file can be made", std::filesystem::temp_directory_path().string());
  }
  const Subject subject = subject_of(command);
  base::Launch launch;
  launch.argv = {interpreter.string(),   "-c",         std::string(kTorchlessQuestion),
                 answer.path().string(), subject.kind, subject.name};
  launch.environment = environment;
  launch.output = complaints.path();
  launch.timeout_seconds = 60;
  const auto ended = base::run_to_end(launch, {});
  if (!ended) return std::unexpected(ended.error());
  const auto said = nlohmann::json::parse(base::read_file(answer.path()).value_or(""), nullptr, false);
  if (!said.is_object()) return TorchlessLook{};  // a Python too old for the question: torch decides
  TorchlessLook look;
  look.frameworks = words_of(said, "frameworks");
  look.cuda = said.value("cuda", "");
  look.read = said.value("read", false);
  look.imported = words_of(said, "imported");
  look.missing = words_of(said, "missing");
  return look;
}

bool can_do_without_torch(const TorchlessLook& look) {
  if (!look.read) return !look.frameworks.empty();
  const bool imports_framework = std::ranges::any_of(look.frameworks, [&](const std::string& framework) {
    return contains(look.imported, framework.substr(0, framework.find(' ')));
  });
  if (imports_framework) return true;
  return look.missing.empty() && !contains(look.imported, "torch");
}

}  // namespace vramfit::job
