// vramfit sweep: a job run with many configurations, or the largest value that fits. 0 = something fits, 1 = nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "app/catalogue.h"
#include "base/clock.h"
#include "base/job_control.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/job_identity.h"
#include "history/run_book.h"
#include "report/sweep_json.h"
#include "report/sweep_text.h"
#include "sweep/history.h"
#include "sweep/local.h"
#include "sweep/slurm.h"
#include "sweep/sweep.h"
#include "sweep/variables.h"

namespace vramfit::cli {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct SweepOptions {
  std::vector<std::string> gpus, vary, slurm_options, retry;
  std::string find_max, file, steps, within, values, occupied, torch, cudnn, address_order, files, json;
  std::string out = "vramfit-sweep";
  double timeout_seconds = 0;
  std::size_t jobs = 0;
  bool slurm = false;
  bool network = false;
  std::int64_t run_trial = -1;
};

void add_words(std::vector<std::string>& words, const char* option, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(option);
  words.push_back(value);
}

Result<model::SweepSpec> read_file(const SweepOptions& options, std::string& find_max) {
  if (options.file.empty()) return model::SweepSpec{};
  auto file = sweep::read_sweep_file(options.file);
  if (!file) return std::unexpected(file.error());
  find_max = file->find_max;
  return file->spec;
}

// What the command line says stands over what the file says.
Result<model::SweepSpec> build_spec(const SweepOptions& options, const Command& command) {
  std::string find_max;
  auto spec = read_file(options, find_max);
  if (!spec) return spec;
  if (!options.gpus.empty()) spec->gpus = options.gpus;
  if (!command.empty()) spec->command = command;
  if (options.timeout_seconds > 0) spec->timeout_seconds = options.timeout_seconds;
  if (!options.find_max.empty()) find_max = options.find_max;
  add_words(spec->options, "--steps", options.steps);
  add_words(spec->options, "--within", options.within);
  add_words(spec->options, "--values", options.values);
  add_words(spec->options, "--occupied", options.occupied);
  add_words(spec->options, "--torch", options.torch);
  add_words(spec->options, "--cudnn", options.cudnn);
  add_words(spec->options, "--address-order", options.address_order);
  add_words(spec->options, "--files", options.files);
  if (options.network) spec->options.emplace_back("--network");
  for (const std::string& text : options.vary) {
    auto variable = sweep::parse_variable(text);
    if (!variable) return std::unexpected(variable.error());
    std::erase_if(spec->variables, [&](const auto& known) { return known.name == variable->name; });
    spec->variables.push_back(std::move(*variable));
  }
  if (!find_max.empty()) {
    auto goal = sweep::parse_goal(find_max);
    if (!goal) return std::unexpected(goal.error());
    spec->goal = *goal;
  }
  if (spec->command.empty()) {
    return fail(ErrorCode::kUsage, "there is no command to run", "",
                "put it behind --:  vramfit sweep --gpu rtx3060 --vary batch=4,8 -- python train.py --batch-size 4");
  }
  if (spec->variables.empty() && !spec->goal) {
    return fail(ErrorCode::kUsage, "there is nothing to vary", "", "--vary batch=1,2,4 or --find-max batch");
  }
  const bool varies_card =
      std::ranges::find(spec->variables, "gpu", &model::SweepVariable::name) != spec->variables.end();
  if (spec->gpus.empty() && !varies_card) {
    return fail(ErrorCode::kUsage, "no card is named", "--gpu", "--gpu \"RTX 3060\", or --vary gpu=rtx3060,rtx3090");
  }
  return spec;
}

// A card that no trial could find.
Result<void> check_cards(const model::SweepSpec& spec) {
  const auto check = [](const std::vector<std::string>& options) -> Result<void> {
    if (const auto chosen = app::choose_cards(options); !chosen) return std::unexpected(chosen.error());
    return {};
  };
  if (!spec.gpus.empty()) {
    if (auto known = check(spec.gpus); !known) return known;
  }
  for (const model::SweepVariable& variable : spec.variables) {
    if (variable.name != "gpu") continue;
    for (const std::string& value : variable.values) {
      if (auto known = check({value}); !known) return known;
    }
  }
  return {};
}

// A trial that a cluster started: becomes `vramfit run`.
Result<int> become_trial(const SweepOptions& options) {
  const sweep::SweepFolder folder(options.out);
  const auto words = sweep::words_of_trial(folder, static_cast<std::size_t>(options.run_trial));
  if (!words) return std::unexpected(words.error());
  std::vector<char*> argv;
  for (const std::string& word : *words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::setenv("VRAMFIT_STORE", "none", 1);
  ::execv(argv[0], argv.data());
  return base::fail_errno("cannot start the trial", words->front());
}

Result<std::unique_ptr<sweep::TrialRunner>> make_runner(const SweepOptions& options, const model::SweepSpec& spec,
                                                        const sweep::SweepFolder& folder) {
  auto program = sweep::own_program();
  if (!program) return std::unexpected(program.error());
  if (options.slurm) {
    auto runner =
        sweep::SlurmTrialRunner::create(folder, *program, {options.slurm_options, options.jobs}, base::steady_clock());
    if (!runner) return std::unexpected(runner.error());
    return std::make_unique<sweep::SlurmTrialRunner>(std::move(*runner));
  }
  // On real cards one at a time: two jobs on one card would measure each other.
  const bool is_real = std::ranges::find(spec.gpus, "real") != spec.gpus.end();
  const std::size_t jobs = options.jobs > 0 ? options.jobs : is_real ? 1 : sweep::default_jobs();
  return std::make_unique<sweep::LocalTrialRunner>(spec, folder, *program, jobs, base::awake_clock());
}

Result<int> act(const SweepOptions& options, const Command& command) {
  if (options.run_trial >= 0) return become_trial(options);
  JsonOutput output(options.json);
  const auto spec = build_spec(options, command);
  if (!spec) return std::unexpected(spec.error());
  // What no trial can be made of leaves no folder behind.
  if (auto makes_sense = sweep::check_trials(*spec); !makes_sense) return std::unexpected(makes_sense.error());
  if (auto known = check_cards(*spec); !known) return std::unexpected(known.error());
  std::error_code ignored;
  const sweep::SweepFolder folder(std::filesystem::absolute(options.out, ignored));
  if (auto prepared = folder.prepare(*spec); !prepared) return std::unexpected(prepared.error());
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  auto runner = make_runner(options, *spec, folder);
  if (!runner) return std::unexpected(runner.error());
  sweep::SweepHistory history(*spec, VRAMFIT_VERSION, progress);
  const auto on_trial = [&](const model::Trial& trial, bool was_known) {
    progress.clear();
    print_page(report::trial_line(*spec, trial, was_known) + "\n");
    if (!was_known) history.note(folder, trial, progress);
  };
  const auto result = sweep::sweep(*spec, folder, **runner, on_trial, progress, base::steady_clock(),
                                   options.retry.empty() ? sweep::kUsualRetry : options.retry);
  progress.clear();
  if (!result) return std::unexpected(result.error());
  print_page(report::sweep_to_text(*result));
  const std::string json = report::sweep_to_json(*result, VRAMFIT_VERSION);
  history.finish(*result, json, progress);
  if (const auto written = output.write(json); !written) return std::unexpected(written.error());
  if (result->interrupted) return 130;
  return std::ranges::any_of(result->trials, [](const model::Trial& trial) { return trial.result.fits(); }) ? 0 : 1;
}

}  // namespace

Verb add_sweep_verb(const Parser& parser) {
  auto options = std::make_shared<SweepOptions>();
  const Parser verb = parser.add_verb(
      "sweep", "Run a job with many configurations, or find the largest value that fits; here, or on Slurm");
  verb.add_option("--gpu,-g", options->gpus, "The card or cards, as for run; real: the machine's own")
      .one_value_each()
      .is_a(grammar::Value::kCard);
  verb.add_option("--vary", options->vary,
                  "NAME=VALUE,VALUE: an option of the script (\"--crop-size=512,768\"), {NAME} in its command, batch, "
                  "amp=off,bf16,fp16, alloc=off,CONF, plan=off,FILE, gpu, steps, within, occupied, torch")
      .one_value_each()
      .is_a(grammar::Value::kVariable, sweep::words_to_vary());
  verb.add_option("--find-max", options->find_max, "NAME or NAME=1..512: the largest whole number that fits");
  verb.add_option("--file", options->file, "The sweep as a TOML file").existing_file();
  verb.add_option("--out", options->out, "The sweep's folder; one with the same sweep is gone on with");
  verb.add_option("--jobs,-j", options->jobs, "Trials at once (default: what cores and memory allow; 1 on real cards)");
  verb.add_option("--timeout", options->timeout_seconds, "Seconds after which a trial is ended (600)").positive();
  verb.add_option("--retry", options->retry,
                  "Run trials again that are known to have ended so: failed, timed_out (both without this), "
                  "out_of_memory, borderline, fits, or all")
      .one_value_each()
      .separated_by(',')
      .one_of({"failed", "timed_out", "out_of_memory", "borderline", "fits", "all"});
  verb.add_option("--steps", options->steps, "As for run");
  verb.add_option("--within", options->within, "As for run");
  verb.add_option("--values", options->values, "As for run");
  verb.add_option("--occupied", options->occupied, "As for run");
  verb.add_option("--torch", options->torch, "As for run");
  verb.add_option("--cudnn", options->cudnn, "As for run");
  verb.add_option("--address-order", options->address_order, "As for run");
  verb.add_option("--files", options->files, "As for run: each trial has its own").one_of({"private", "shared"});
  verb.add_flag("--network", options->network, "As for run");
  verb.add_flag("--slurm", options->slurm, "Run the trials as job arrays on this Slurm cluster");
  verb.add_option("--slurm-option", options->slurm_options, "A word for sbatch: --slurm-option=--partition=gpu")
      .one_value_each();
  verb.add_option("--run-trial", options->run_trial, "Run this one trial of the folder; what cluster jobs call")
      .hidden();
  verb.add_option("--json", options->json, "Write the result to this file; - is stdout, and the table goes to stderr")
      .written_file();
  verb.takes_command();
  verb.examples({"vramfit sweep --gpu rtx3060 --vary batch=8,16,32 -- python train.py",
                 "vramfit sweep --gpu rtx3060 --find-max batch -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
