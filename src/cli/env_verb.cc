// vramfit env: the Python environments that are kept for those who have no torch of their own.
#include <fmt/format.h>

#include <memory>

#include "app/environment.h"
#include "app/kept_environment.h"
#include "base/clock.h"
#include "base/subprocess.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace vramfit::cli {

namespace {

using base::Result;

struct EnvOptions {
  std::string torch;
  std::vector<std::string> packages;
};

Result<app::KeptEnvironment> find_kept(const std::string& version) {
  for (const auto& kept : app::list_kept_environments(base::current_environment())) {
    if (kept.version == version || kept.version.starts_with(version + ".")) return kept;
  }
  return base::fail(base::ErrorCode::kNotFound, fmt::format("no environment with torch {} is kept", version), {},
                    "vramfit env list");
}

Result<int> list() {
  const auto all = app::list_kept_environments(base::current_environment());
  for (const auto& kept : all) print(fmt::format("torch {}  {}\n", kept.version, kept.folder.string()));
  if (all.empty()) talk("vramfit: none yet; the first run without a torch of your own makes one\n");
  return 0;
}

// Makes the environment where it is not there yet, then installs what was named besides.
Result<int> add(const EnvOptions& options, base::ProgressSink& progress) {
  app::EnvironmentRequest request;
  request.command = {"python"};
  request.torch = options.torch.empty() ? std::string(app::choose_torch_release({}, 11)->version) : options.torch;
  request.environment = base::current_environment();
  const auto job = app::choose_environment(request, progress);
  if (!job) return std::unexpected(job.error());
  const auto kept = find_kept(job->interpreter.torch.substr(0, job->interpreter.torch.find('+')));
  if (!kept) return std::unexpected(kept.error());
  if (!options.packages.empty()) {
    const auto added = app::add_packages(*kept, options.packages, request.environment, progress);
    if (!added) return std::unexpected(added.error());
  }
  print(fmt::format("torch {}  {}\n", kept->version, kept->folder.string()));
  return 0;
}

Result<int> remove(const std::string& version) {
  const auto kept = find_kept(version);
  if (!kept) return std::unexpected(kept.error());
  if (const auto removed = app::remove_environment(*kept); !removed) return std::unexpected(removed.error());
  return 0;
}

}  // namespace

Verb add_env_verb(CLI::App& parser) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App* verb = parser.add_subcommand("env", "The Python environments that vramfit keeps: list, add, remove");
  verb->require_subcommand(1);
  CLI::App* lists = verb->add_subcommand("list", "Show them");
  CLI::App* adds = verb->add_subcommand("add", "Install packages into one, which is made if need be");
  adds->add_option("packages", options->packages, "As pip names them");
  adds->add_option("--torch", options->torch, "Which one, by its version of torch");
  CLI::App* removes = verb->add_subcommand("remove", "Delete one");
  removes->add_option("version", options->torch, "Its version of torch")->required();
  return {verb, [options, lists, adds, removes](const Command&) {
            TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
            Result<int> code = 2;
            if (lists->parsed()) code = list();
            if (adds->parsed()) code = add(*options, progress);
            if (removes->parsed()) code = remove(options->torch);
            progress.clear();
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
