#include "doctor/not_run.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vramfit::doctor {

namespace {

enum class FileKind { kOther, kPython, kNotebook, kProgram, kJobScript, kSettings, kPackages };

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

template <std::size_t N>
bool ends_with_any(std::string_view name, const std::array<std::string_view, N>& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

FileKind kind_of(const model::TextFile& file) {
  static constexpr auto kPrograms = std::to_array<std::string_view>(
      {".c",   ".cc", ".cpp", ".cxx", ".cu",  ".cuh",   ".h",   ".hpp",   ".hip", ".cl",  ".java",
       ".kt",  ".m",  ".jl",  ".go",  ".rs",  ".swift", ".cs",  ".scala", ".js",  ".mjs", ".ts",
       ".lua", ".r",  ".rb",  ".f90", ".zig", ".mojo",  ".pyx", ".php",   ".pl"});
  static constexpr auto kJobScripts = std::to_array<std::string_view>({".sh", ".bash", ".sbatch", ".slurm", ".pbs"});
  static constexpr auto kSettings =
      std::to_array<std::string_view>({".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".json"});
  static constexpr auto kPackages = std::to_array<std::string_view>(
      {"environment.yml", "environment.yaml", "pyproject.toml", "setup.cfg", "poetry.lock", "uv.lock", "pipfile"});
  const std::string name = lowered(name_of(file.name));
  if (name.ends_with(".py") || file.program == model::ProgramIn::kPython) return FileKind::kPython;
  if (file.program == model::ProgramIn::kNotebook) return FileKind::kNotebook;
  if (ends_with_any(name, kPackages)) return FileKind::kPackages;
  if (name.ends_with(".txt") && (name.starts_with("requirements") || name.starts_with("constraints")))
    return FileKind::kPackages;
  if (ends_with_any(name, kPrograms) || file.program == model::ProgramIn::kOther ||
      file.kind == model::TextKind::kSource)
    return FileKind::kProgram;
  if (ends_with_any(name, kJobScripts) || name == "dockerfile" || name == "makefile") return FileKind::kJobScript;
  // Programs write their results as JSON too, and a log in it is one.
  const bool has_results = name.ends_with(".json") && mentions(file.sample, {"\"loss\"", "log_history", "\"metrics\""});
  if (ends_with_any(name, kSettings) && !has_results) return FileKind::kSettings;
  // Only of a whole text its content tells.
  const bool is_whole = file.complete && file.bytes <= static_cast<std::int64_t>(file.sample.size());
  if (is_whole && file.settings == model::SettingsIn::kPackages) return FileKind::kPackages;
  if (is_whole && file.settings == model::SettingsIn::kSettings) return FileKind::kSettings;
  if (!file.sample.starts_with("#!")) return FileKind::kOther;
  return mentions(file.sample.substr(0, file.sample.find('\n')), {"python"}) ? FileKind::kPython : FileKind::kJobScript;
}

std::string as_word(const std::string& word) {
  return word.find_first_of(" \t\"'$`\\*?()&;") == std::string::npos ? word : "'" + word + "'";
}

// "srun python train.py --batch 32 > log": what of a line starts Python or one of its launchers; empty: nothing does.
std::string command_in(std::string_view line) {
  static constexpr auto kStarts =
      std::to_array<std::string_view>({"torchrun ", "accelerate launch ", "deepspeed ", "python3 ", "python "});
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] == '#') return "";
  for (const std::string_view start : kStarts) {
    const std::size_t at = line.find(start);
    if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ' && line[at - 1] != '\t' && line[at - 1] != '/'))
      continue;
    std::string_view command = line.substr(at);
    if (mentions(command, {"-m pip", "-m venv", "-c ", "setup.py"})) return "";
    command = command.substr(0, command.find_first_of("><|&;"));
    const bool goes_on = command.ends_with('\\');
    while (!command.empty() && std::string_view(" \t\r\\").contains(command.back())) command.remove_suffix(1);
    return std::string(command) + (goes_on ? " ..." : "");
  }
  return "";
}

std::string command_of_job(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string command = command_in(text.substr(0, end));
    if (!command.empty()) return command;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return "";
}

// Something that a run or a tool printed stands in it.
bool tells_of_a_run(const model::Evidence& texts, const model::TextFile& file) {
  const auto is_here = [&](const auto& entry) { return entry.at.file == file.name; };
  return std::ranges::any_of(texts.tracebacks, is_here) || std::ranges::any_of(texts.gpu_status, is_here) ||
         std::ranges::any_of(texts.summaries, is_here) || std::ranges::any_of(texts.launch_failures, is_here) ||
         std::ranges::any_of(texts.host_kills, is_here);
}

}  // namespace

std::optional<NotRun> find_not_run(const Scene& scene, const model::TextFile& file) {
  constexpr const char* kUnknownScript = "python YOUR_SCRIPT.py";
  if (scene.has_run() || file.looks == model::TextLooks::kEmpty || tells_of_a_run(scene.texts, file))
    return std::nullopt;
  const std::string start =
      "vramfit doctor --gpu " + (scene.given.card ? scene.given.card->key : std::string("CARD")) + " -- ";
  switch (kind_of(file)) {
    case FileKind::kPython: {
      const bool is_named = file.name != model::kStandardInput;
      return NotRun{"a program's source", start + (is_named ? "python " + as_word(file.name) : kUnknownScript),
                    !scene.given.card || !is_named};
    }
    case FileKind::kNotebook:
      return NotRun{"a notebook", "jupyter nbconvert --to script NOTEBOOK.ipynb; " + start + "python NOTEBOOK.py",
                    true};
    case FileKind::kProgram:
      return NotRun{"a program's source", start + "YOUR_PROGRAM", true};
    case FileKind::kJobScript: {
      const std::string command = command_of_job(file.sample);
      return NotRun{"a script that starts a job", start + (command.empty() ? kUnknownScript : command), true};
    }
    case FileKind::kSettings:
      return NotRun{"a file of settings", start + kUnknownScript, true};
    case FileKind::kPackages:
      return NotRun{"a list of packages", start + kUnknownScript, true};
    case FileKind::kOther:
      break;
  }
  return std::nullopt;
}

bool was_nothing_run(const Scene& scene) {
  return !scene.texts.files.empty() && scene.given.snapshots.empty() && !scene.given.oom_report &&
         std::ranges::all_of(scene.texts.files,
                             [&](const model::TextFile& file) { return find_not_run(scene, file).has_value(); });
}

}  // namespace vramfit::doctor
