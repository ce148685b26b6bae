#include "job/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/subprocess.h"
#include "job/kept_environment.h"
#include "job/torch_choice.h"
#include "job/torch_releases.h"
#include "job/torchless.h"

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;
using base::Environment;
using base::ErrorCode;
using base::fail;
using base::ProgressSink;
using base::Result;

// A card that this build has no kernels for fails on the virtual GPU exactly as it would in reality; say why and what
// would do.
void note_missing_kernels(const std::vector<model::Card>& cards, JobEnvironment& job) {
  const Interpreter& interpreter = job.interpreter;
  const std::string names = name_cards_without_kernels(cards, interpreter.architectures);
  if (names.empty()) return;
  std::string text =
      fmt::format("torch {} has no kernels for {}: it fails there as on the real card", interpreter.torch, names);
  if (const auto other = find_release_for(cards, interpreter)) {
    text += fmt::format("; torch {} (CUDA {}) has them: --torch {}", other->version, other->cuda, other->version);
  }
  job.notes.push_back(std::move(text));
}

// Puts a kept environment's interpreter or launcher in the place of the user's.
Result<std::vector<std::string>> place_command(std::vector<std::string> command, const KeptEnvironment& kept,
                                               const std::optional<CommandShape>& shape) {
  const fs::path name = fs::path(command[0]).filename();
  const bool is_python = name.string().starts_with("python");
  if (is_python) {
    command[0] = kept.python().string();
    return command;
  }
  const fs::path launcher = kept.folder / "bin" / name;
  if (fs::exists(launcher)) {
    command[0] = launcher.string();
    return command;
  }
  if (shape && shape->is_guess) {  // a shell script: it finds the environment first in its PATH
    command[0] = shape->program.string();
    return command;
  }
  return fail(ErrorCode::kNotFound, fmt::format("vramfit's own environment has no {}", name.string()),
              kept.folder.string(),
              fmt::format("vramfit env add {} --torch {}; or activate an environment that has torch and {}",
                          name.string(), kept.version, name.string()));
}

Environment enter(Environment environment, const KeptEnvironment& kept) {
  const std::string path = environment["PATH"];
  environment["PATH"] = (kept.folder / "bin").string() + (path.empty() ? "" : ":" + path);
  environment["VIRTUAL_ENV"] = kept.folder.string();
  for (const char* name : {"PYTHONHOME", "CONDA_PREFIX"}) environment.erase(name);
  return environment;
}

Result<JobEnvironment> use_kept(const EnvironmentRequest& request, const std::optional<CommandShape>& shape,
                                const std::optional<Interpreter>& meant, ProgressSink& progress) {
  const auto choice = choose_torch(request.torch, request.cards, meant, request.environment);
  if (!choice) return std::unexpected(choice.error());
  const auto kept = provide_environment(choice->release, choice->base.program, request.environment, progress);
  if (!kept) return std::unexpected(kept.error());
  const auto command = place_command(request.command, *kept, shape);
  if (!command) return std::unexpected(command.error());
  JobEnvironment job{*command, enter(request.environment, *kept), {}, true, {}};
  auto inside = inspect_interpreter(kept->python(), job.environment);
  if (!inside) return std::unexpected(inside.error());
  job.interpreter = std::move(*inside);
  if (job.interpreter.cuda.empty()) {
    return fail(ErrorCode::kCorrupt, "vramfit's own environment has lost its torch", kept->folder.string(),
                fmt::format("vramfit env remove {}", kept->version));
  }
  if (meant && !meant->torch.empty()) {
    job.notes.push_back(
        fmt::format("the torch {} in {} {}: using vramfit's own torch {}", meant->torch, meant->program.string(),
                    meant->cuda.empty() ? "is a build without CUDA" : "is left alone", job.interpreter.torch));
  } else if (meant) {
    job.notes.push_back(fmt::format("{} has no torch: the script runs in vramfit's own environment, with torch {}",
                                    meant->program.string(), job.interpreter.torch));
  }
  const auto newest = find_release_for({}, choice->base);
  if (!request.torch && newest && newest->version != choice->release.version) {
    const auto without = parse_architectures(newest->architectures);
    job.notes.push_back(fmt::format("torch {} has no kernels for {}: using torch {} (CUDA {}), which has",
                                    newest->version, name_cards_without_kernels(request.cards, without),
                                    choice->release.version, choice->release.cuda));
  }
  return job;
}

Result<JobEnvironment> use_own(const EnvironmentRequest& request, const CommandShape& shape, Interpreter interpreter) {
  JobEnvironment job{request.command, request.environment, std::move(interpreter), false, {}};
  // The interpreter itself rather than a shim or a link to it; a launcher brings its own.
  const bool is_python = !shape.is_launcher && !shape.is_guess;
  job.command[0] = is_python ? job.interpreter.program.string() : shape.program.string();
  if (shape.is_guess) {
    job.notes.push_back(fmt::format("{} is no Python program: it is taken to run {}", request.command[0],
                                    job.interpreter.program.string()));
  }
  return job;
}

// A program that is no script, and whose words name neither another program nor a file: nothing that could start a
// Python. Shells and builders read what to start from elsewhere.
bool may_start_python(const std::vector<std::string>& command, const fs::path& program,
                      const base::Environment& environment) {
  std::array<char, 4> head{};
  std::ifstream file(program, std::ios::binary);
  if (!file.read(head.data(), head.size()) || std::string_view(head.data() + 1, 3) != "ELF") return true;
  const std::string name = program.filename().string();
  if (name.ends_with("sh") || name.ends_with("make") || name == "ninja" || name == "just" || name == "task")
    return true;
  std::error_code ignored;
  return std::any_of(command.begin() + 1, command.end(), [&](const std::string& word) {
    return word.contains("python") || fs::is_regular_file(word, ignored) || base::find_program(word, environment);
  });
}

// A command that is no Python and starts none needs no torch.
std::optional<Result<JobEnvironment>> use_as_it_is(const EnvironmentRequest& request, const CommandShape& shape,
                                                   const Interpreter& interpreter) {
  if (!shape.is_guess || may_start_python(request.command, shape.program, request.environment)) return std::nullopt;
  JobEnvironment job{request.command, request.environment, interpreter, false, {}};
  job.command[0] = shape.program.string();
  job.notes.push_back(fmt::format("{} is no Python program, and starts none that its words tell: it runs as it is",
                                  request.command[0]));
  return job;
}

// Uses an interpreter that has no CUDA build of torch. Nothing: the job needs one.
std::optional<Result<JobEnvironment>> use_without_torch(const EnvironmentRequest& request, const CommandShape& shape,
                                                        const Interpreter& interpreter) {
  const auto look = look_without_torch(interpreter.program, request.command, request.environment);
  if (!look) return std::unexpected(look.error());
  if (!can_do_without_torch(*look)) return std::nullopt;
  auto job = use_own(request, shape, interpreter);
  if (!job) return job;
  job->interpreter.cuda = look->cuda;
  job->frameworks = look->frameworks;
  job->notes.push_back(fmt::format(
      "{} has no CUDA build of torch and is used as it is: {}", interpreter.program.string(),
      look->frameworks.empty() ? "the script asks for none" : fmt::format("{}", fmt::join(look->frameworks, ", "))));
  return job;
}

}  // namespace

Result<JobEnvironment> choose_environment(const EnvironmentRequest& request, ProgressSink& progress) {
  if (request.command.empty()) {
    return fail(ErrorCode::kUsage, "there is no command to run", {}, "vramfit run --gpu CARD -- python train.py");
  }
  std::optional<CommandShape> shape;
  std::optional<Interpreter> meant;
  if (const auto found = find_interpreter(request.command, request.environment)) {
    shape = *found;
    auto inspected = inspect_interpreter(found->interpreter, request.environment);
    if (!inspected) return std::unexpected(inspected.error());
    meant = std::move(*inspected);
  } else if (!fs::path(request.command[0]).filename().string().starts_with("python") &&
             request.command[0] != "torchrun" && request.command[0] != "accelerate") {
    return std::unexpected(found.error());  // those are found in a kept environment
  } else if (request.command[0].find('/') != std::string::npos) {
    return std::unexpected(found.error());
  }
  const bool has_own = meant && !meant->cuda.empty();
  if (meant && !has_own && !request.torch) {
    if (auto job = use_as_it_is(request, *shape, *meant)) return *std::move(job);
    if (auto job = use_without_torch(request, *shape, *meant)) return *std::move(job);
  }
  auto job = has_own && !request.torch ? use_own(request, *shape, *meant) : use_kept(request, shape, meant, progress);
  if (!job) return job;
  note_missing_kernels(request.cards, *job);
  return job;
}

}  // namespace vramfit::job
