// vramfit env: the Python environments that are kept for those who have no torch of their own.
#include <fmt/format.h>

#include <memory>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/subprocess.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "job/environment.h"
#include "job/installation.h"
#include "job/interpreter.h"
#include "job/kept_environment.h"
#include "job/platforms.h"
#include "report/environments.h"

namespace vramfit::cli {

namespace {

using base::Result;

struct EnvOptions {
  std::string torch;
  std::vector<std::string> packages;
  std::string action;  // of hook
  std::string json;    // of list
  std::string python = "python";
};

Result<job::KeptEnvironment> find_kept(const std::string& version) {
  for (const auto& kept : job::list_kept_environments(base::current_environment())) {
    if (kept.version == version || kept.version.starts_with(version + ".")) return kept;
  }
  return base::fail(base::ErrorCode::kNotFound, fmt::format("no environment with torch {} is kept", version), {},
                    "vramfit env list");
}

Result<int> list(const std::string& json_file) {
  std::vector<report::EnvironmentRow> rows;
  for (const auto& kept : job::list_kept_environments(base::current_environment())) {
    rows.push_back({kept.version, kept.folder.string(), kept.python().string()});
  }
  const std::string json = report::environments_to_json(rows, VRAMFIT_VERSION);
  if (const auto written = write_json(json_file, json); !written) return std::unexpected(written.error());
  if (json_file == "-") return 0;
  print_page(report::environments_to_text(rows));
  if (rows.empty()) talk("vramfit: none yet; the first run without a torch of your own makes one\n");
  return 0;
}

// Makes the environment where it is not there yet, then installs what was named besides.
Result<int> add(const EnvOptions& options, base::ProgressSink& progress) {
  job::EnvironmentRequest request;
  request.command = {"python"};
  request.torch = options.torch.empty() ? std::string(job::choose_torch_release({}, 11)->version) : options.torch;
  request.environment = base::current_environment();
  const auto job = job::choose_environment(request, progress);
  if (!job) return std::unexpected(job.error());
  for (const std::string& sentence : job::describe_untested(job->interpreter)) progress.say(sentence);
  if (auto runs = job::check_cuda(job->interpreter); !runs) return std::unexpected(runs.error());
  const auto kept = find_kept(job->interpreter.torch.substr(0, job->interpreter.torch.find('+')));
  if (!kept) return std::unexpected(kept.error());
  if (!options.packages.empty()) {
    const auto added = job::add_packages(*kept, options.packages, request.environment, progress);
    if (!added) return std::unexpected(added.error());
  }
  print(fmt::format("torch {}  {}\n", kept->version, kept->folder.string()));
  return 0;
}

Result<int> remove(const std::string& version) {
  const auto kept = find_kept(version);
  if (!kept) return std::unexpected(kept.error());
  if (const auto removed = job::remove_environment(*kept); !removed) return std::unexpected(removed.error());
  return 0;
}

// The line in an environment's site-packages that makes VRAMFIT_ON_OOM work there (python/vramfit/on_oom/hook.py).
Result<int> hook(const EnvOptions& options) {
  const auto installation = job::find_installation();
  if (!installation) return std::unexpected(installation.error());
  if (options.action == "path") {
    print(installation->hook().string() + "\n");
    return 0;
  }
  base::Launch launch;
  launch.environment = base::current_environment();
  const auto shape = job::find_interpreter({options.python}, launch.environment);
  if (!shape) return std::unexpected(shape.error());
  launch.argv = {shape->interpreter.string(), "-m", "vramfit.on_oom.hook", options.action};
  launch.environment["PYTHONPATH"] = installation->python().string();
  const base::InterruptScope interrupts;
  const auto ended = base::run_to_end(launch, [](double) {});
  if (!ended) return std::unexpected(ended.error());
  return ended->shell_code();
}

}  // namespace

Verb add_env_verb(const Parser& parser) {
  auto options = std::make_shared<EnvOptions>();
  const Parser verb = parser.add_verb("env", "The Python environments that vramfit keeps, and its hook in yours");
  verb.requires_a_verb();
  const Parser lists = verb.add_verb("list", "Show them");
  lists.add_option("--json", options->json, "Write them to this file; - is stdout").written_file();
  const Parser adds = verb.add_verb("add", "Install packages into one, which is made if need be");
  adds.add_option("packages", options->packages, "As pip names them");
  adds.add_option("--torch", options->torch, "Which one, by its version of torch");
  const Parser removes = verb.add_verb("remove", "Delete one");
  removes.add_option("version", options->torch, "Its version of torch").required();
  const Parser hooks = verb.add_verb(
      "hook", "Make VRAMFIT_ON_OOM=doctor work in an environment: a report when a job runs out of memory");
  hooks.add_option("action", options->action, "install, remove, or path (for PYTHONPATH, nothing installed)")
      .required()
      .one_of({"install", "remove", "path"});
  hooks.add_option("--python", options->python, "The environment's interpreter (python)");
  verb.examples({"vramfit env list", "vramfit env add transformers --torch 2.6.0"});
  lists.examples({"vramfit env list", "vramfit env list --json -"});
  adds.examples({"vramfit env add transformers", "vramfit env add timm peft --torch 2.6.0"});
  removes.examples({"vramfit env list", "vramfit env remove 2.6.0"});
  hooks.examples({"vramfit env hook install", "vramfit env hook path --python .venv/bin/python"});
  return {verb, [options, lists, adds, removes, hooks](const Command&) {
            TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
            Result<int> code = 2;
            if (lists.was_chosen()) code = list(options->json);
            if (adds.was_chosen()) code = add(*options, progress);
            if (removes.was_chosen()) code = remove(options->torch);
            if (hooks.was_chosen()) code = hook(*options);
            progress.clear();
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
