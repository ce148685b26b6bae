#include "job/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "job/kept_environment.h"
#include "job/platforms.h"
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

std::vector<model::ComputeCapability> capabilities_of(const std::vector<model::Card>& cards) {
  std::set<model::ComputeCapability> all;
  for (const model::Card& card : cards) all.insert(card.capability);
  return {all.begin(), all.end()};
}

int minor_of(const std::string& python_version) {
  const std::size_t dot = python_version.find('.');
  return dot == std::string::npos ? 0 : std::atoi(python_version.c_str() + dot + 1);
}

// The interpreters an environment may be built from: the one the command means, then whatever the PATH has.
std::vector<Interpreter> find_bases(const std::optional<Interpreter>& meant, const Environment& environment) {
  std::vector<Interpreter> bases;
  if (meant) bases.push_back(*meant);
  std::vector<std::string> names{"python3"};
  for (const int minor : rank_pythons()) names.push_back(fmt::format("python3.{}", minor));
  for (const std::string& name : names) {
    const auto path = base::find_program(name, environment);
    if (!path) continue;
    const auto found = inspect_interpreter(*path, environment);
    if (!found || std::ranges::any_of(bases, [&](const auto& known) { return known.program == found->program; }))
      continue;
    bases.push_back(*found);
  }
  return bases;
}

struct Choice {
  TorchRelease release;
  Interpreter base;
};

std::unexpected<base::Error> fail_without_python(const std::vector<model::Card>& cards) {
  const auto pythons = find_pythons(capabilities_of(cards)).or_else([] { return find_pythons(); });
  return fail(ErrorCode::kNotFound, "there is no python3 on the PATH", {},
              fmt::format("install Python {}, or name an interpreter that has torch: -- /path/to/python ...",
                          to_string(*pythons)));
}

// A version that is not in the table may be asked for: it is untested, and comes without torchvision.
Result<Choice> choose_asked(const std::string& version, const std::vector<Interpreter>& bases) {
  const auto known = find_torch_release(version);
  const TorchRelease release = known.value_or(TorchRelease{version, "as the wheel has it", "", "", "sympy", 0, 99, ""});
  for (const Interpreter& base : bases) {
    const int minor = minor_of(base.python);
    if (minor >= release.python_first && minor <= release.python_last) return Choice{release, base};
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("torch {} needs Python 3.{} to 3.{}, and none is on the PATH", release.version,
                          release.python_first, release.python_last),
              "--torch", "install one of them, or choose another version of torch");
}

Result<Choice> choose_any(const std::vector<model::Card>& cards, const std::vector<Interpreter>& bases) {
  for (const Interpreter& base : bases) {
    if (auto release = choose_torch_release(capabilities_of(cards), minor_of(base.python))) {
      return Choice{*release, base};
    }
  }
  std::string remedy = "emulate cards of one generation";
  if (const auto pythons = find_pythons(capabilities_of(cards)))
    remedy = fmt::format("put a Python from {} on the PATH", to_string(*pythons));
  return fail(ErrorCode::kUnsupported, "no release of torch has kernels for these cards and this Python",
              fmt::format("Python {}", bases.front().python), std::move(remedy));
}

std::string name_cards_without_kernels(const std::vector<model::Card>& cards, const Interpreter& interpreter) {
  std::vector<std::string> names;
  for (const model::Card& card : cards) {
    if (interpreter.architectures.empty() || has_kernels_for(interpreter.architectures, card.capability)) continue;
    auto name = fmt::format("{} (compute capability {}.{})", card.name, card.capability.major, card.capability.minor);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// A card that this build has no kernels for fails on the virtual GPU exactly as it would in reality; say why and what
// would do.
void note_missing_kernels(const std::vector<model::Card>& cards, JobEnvironment& job) {
  const Interpreter& interpreter = job.interpreter;
  const std::string names = name_cards_without_kernels(cards, interpreter);
  if (names.empty()) return;
  std::string text =
      fmt::format("torch {} has no kernels for {}: it fails there as on the real card", interpreter.torch, names);
  if (const auto other = choose_torch_release(capabilities_of(cards), minor_of(interpreter.python))) {
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
  const auto bases = find_bases(meant, request.environment);
  if (bases.empty()) return fail_without_python(request.cards);
  const auto choice = request.torch ? choose_asked(*request.torch, bases) : choose_any(request.cards, bases);
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
  const auto newest = choose_torch_release({}, minor_of(choice->base.python));
  if (!request.torch && newest && newest->version != choice->release.version) {
    Interpreter without;
    without.architectures = parse_architectures(newest->architectures);
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

// Takes an interpreter that has no CUDA build of torch; nothing where the job needs one.
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

// The package on PyPI that has a module, where that is sure: anybody may have taken a module's name for a package of
// another kind.
std::string_view package_of(std::string_view module) {
  struct Known {
    std::string_view module, package;  // no package: of the same name
  };
  static constexpr auto kKnown = std::to_array<Known>({{"accelerate", ""},
                                                       {"albumentations", ""},
                                                       {"bitsandbytes", ""},
                                                       {"bs4", "beautifulsoup4"},
                                                       {"cv2", "opencv-python-headless"},
                                                       {"datasets", ""},
                                                       {"deepspeed", ""},
                                                       {"diffusers", ""},
                                                       {"einops", ""},
                                                       {"evaluate", ""},
                                                       {"gymnasium", ""},
                                                       {"h5py", ""},
                                                       {"hydra", "hydra-core"},
                                                       {"imageio", ""},
                                                       {"lightning", ""},
                                                       {"matplotlib", ""},
                                                       {"monai", ""},
                                                       {"nltk", ""},
                                                       {"numpy", ""},
                                                       {"omegaconf", ""},
                                                       {"pandas", ""},
                                                       {"peft", ""},
                                                       {"PIL", "pillow"},
                                                       {"pycocotools", ""},
                                                       {"pytorch_lightning", "pytorch-lightning"},
                                                       {"requests", ""},
                                                       {"safetensors", ""},
                                                       {"scipy", ""},
                                                       {"segmentation_models_pytorch", "segmentation-models-pytorch"},
                                                       {"sentencepiece", ""},
                                                       {"skimage", "scikit-image"},
                                                       {"sklearn", "scikit-learn"},
                                                       {"stable_baselines3", "stable-baselines3"},
                                                       {"tensorboard", ""},
                                                       {"tiktoken", ""},
                                                       {"timm", ""},
                                                       {"tokenizers", ""},
                                                       {"torch_geometric", "torch-geometric"},
                                                       {"torchaudio", ""},
                                                       {"torchmetrics", ""},
                                                       {"torchvision", ""},
                                                       {"tqdm", ""},
                                                       {"transformers", ""},
                                                       {"trl", ""},
                                                       {"ultralytics", ""},
                                                       {"wandb", ""},
                                                       {"yaml", "pyyaml"}});
  const auto found = std::ranges::find(kKnown, module, &Known::module);
  if (found == kKnown.end()) return {};
  return found->package.empty() ? found->module : found->package;
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
    if (auto job = use_without_torch(request, *shape, *meant)) return *std::move(job);
  }
  auto job = has_own && !request.torch ? use_own(request, *shape, *meant) : use_kept(request, shape, meant, progress);
  if (!job) return job;
  note_missing_kernels(request.cards, *job);
  return job;
}

std::string remedy_for_missing_module(const JobEnvironment& environment, const std::string& module) {
  const std::string name = module.substr(0, module.find('.'));
  const std::string_view package = package_of(name);
  if (package.empty()) {
    return fmt::format(
        "install the package that has {}, whose name may be another; where it is a folder of the project's own: start "
        "in that project's folder, or name it in PYTHONPATH",
        name);
  }
  if (!environment.is_kept)
    return fmt::format("{} -m pip install {}", environment.interpreter.program.string(), package);
  const std::string& version = environment.interpreter.torch;
  return fmt::format(
      "vramfit env add {} --torch {}; or run with an interpreter that has torch and {}: -- /path/to/python ...",
      package, version.substr(0, version.find('+')), package);
}

}  // namespace vramfit::job
