// vramfit patch: a plan as a diff of the user's own source. 0 = all of the plan is in it, 4 = a part, 1 = nothing;
// 3 = the plan does not apply to the job.
#include <fmt/format.h>

#include <memory>

#include "app/patch.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace vramfit::cli {

namespace {

constexpr int kNothingPatched = 1, kNotForThisJob = 3, kPartlyPatched = 4;

struct PatchOptions {
  JobOptions job;
  std::string plan = "vramfit-plan.json", output;
  bool write = false;
};

int code_of(const model::Patch& patch) {
  if (patch.done.empty()) return kNothingPatched;
  return patch.left.empty() ? 0 : kPartlyPatched;
}

std::string diff_of(const model::Patch& patch) {
  std::string diff;
  for (const model::PatchedFile& file : patch.files) diff += file.diff;
  return diff;
}

void talk_of(const model::Patch& patch) {
  for (const std::string& done : patch.done) talk(fmt::format("[✓] {} is in the source\n", done));
  for (const auto& left : patch.left) talk(fmt::format("[✗] {} is not in the source: {}\n", left.id, left.reason));
  if (!patch.left.empty() && !patch.done.empty()) {
    talk("What is not in the source takes a plan of its own beside it (vramfit run --plan).\n");
  }
}

base::Result<void> put_out(const PatchOptions& options, const model::Patch& patch) {
  if (options.write) {
    const auto backups = app::write_patched(patch);
    if (!backups) return std::unexpected(backups.error());
    for (const std::string& backup : *backups) talk(fmt::format("what was there is in {}\n", backup));
    return {};
  }
  if (options.output.empty()) {
    print(diff_of(patch));
  } else if (auto written = base::write_file(options.output, diff_of(patch)); !written) {
    return written;
  }
  if (!patch.files.empty()) talk(fmt::format("to apply it: patch -p1 or git apply, in {}\n", patch.root));
  return {};
}

base::Result<int> act(const PatchOptions& options, const Command& command) {
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  auto request = build_request(options.job, command, progress);
  if (!request) return std::unexpected(request.error());
  request->plan = options.plan;
  job::ColdRunner runner;
  const auto answer = app::make_patch(*request, runner, progress);
  progress.clear();
  if (!answer) return std::unexpected(answer.error());
  if (!answer->refused.empty()) {
    for (const std::string& refusal : answer->refused) talk(fmt::format("[✗] the plan does not apply: {}\n", refusal));
    return kNotForThisJob;
  }
  talk_of(answer->patch);
  if (auto put = put_out(options, answer->patch); !put) return std::unexpected(put.error());
  return code_of(answer->patch);
}

}  // namespace

Verb add_patch_verb(const Parser& parser) {
  auto options = std::make_shared<PatchOptions>();
  const Parser verb = parser.add_verb("patch", "Show a plan as a diff of your own source, so that it needs no vramfit");
  verb.add_option("plan", options->plan, "The plan file; vramfit-plan.json, as fit writes it").existing_file();
  const Option write = verb.add_flag("--write", options->write, "Change the files, each beside a copy of what it was");
  verb.add_option("--output", options->output, "Write the diff to this file").excludes(write).written_file();
  add_job_options(verb, options->job);
  verb.footer(
      "vramfit patch --gpu \"GTX 1650\" -- python train.py | git apply\n"
      "vramfit patch plan.json --gpu rtx3060 --write -- python train.py --epochs 3");
  verb.examples({"vramfit patch vramfit-plan.json -- python train.py",
                 "vramfit patch vramfit-plan.json --output plan.diff -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
