// vramfit init: looks at the machine and says what a training job would stumble over.
#include <algorithm>
#include <memory>

#include "app/init/init.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/environment_text.h"
#include "report/layout.h"

namespace vramfit::cli {

namespace {

struct InitOptions {
  std::string json, root = "/";
};

base::Result<int> act(const InitOptions& options, const Command& command) {
  const auto checks = app::check_environment(app::gather_facts({.command = command, .root = options.root}));
  if (options.json != "-") {
    const std::string text = report::environment_to_text(checks);
    print_page(wants_color(1) ? report::paint_marks(text) : text);
  }
  if (!options.json.empty()) {
    const std::string json = report::environment_to_json(checks, VRAMFIT_VERSION);
    if (options.json == "-") {
      print(json);
    } else if (auto written = write_json(options.json, json); !written) {
      return std::unexpected(written.error());
    }
  }
  const bool has_problem =
      std::ranges::any_of(checks, [](const auto& check) { return check.state == model::EnvironmentState::kProblem; });
  return has_problem ? 1 : 0;
}

}  // namespace

Verb add_init_verb(const Parser& parser) {
  auto options = std::make_shared<InitOptions>();
  const Parser verb = parser.add_verb("init", "Check driver, torch, cards, limits and disks; each with what to try");
  verb.add_option("--json", options->json, "Write what was found to this file; - is stdout").written_file();
  verb.add_option("--root", options->root, "Read /proc, /sys and /dev/shm below this folder (a container's, a test's)")
      .existing_folder();
  verb.footer("vramfit init -- python train.py asks the Python of that command");
  verb.examples({"vramfit init", "vramfit init --json - -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
