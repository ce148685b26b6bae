// vramfit doctor: what people have left after a crash, and the script itself, to a cause with evidence and a cure.
// 0 = all well, 1 = findings, 2 = it could not be read or run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

#include "app/catalogue.h"
#include "app/doctor/cause_pages.h"
#include "app/doctor/doctor.h"
#include "base/clock.h"
#include "cli/job_options.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/run_book.h"
#include "report/doctor_json.h"
#include "report/doctor_text.h"
#include "report/layout.h"

namespace vramfit::cli {

namespace {

using base::Result;

struct DoctorOptions {
  JobOptions job;
  std::vector<std::string> files;
  std::string sarif;
};

// Without --gpu: the card that the texts name, else a large one, on which everything but size shows.
Result<void> choose_card(DoctorOptions& options, const app::CaseFiles& files, base::ProgressSink& progress) {
  if (!options.job.gpus.empty()) return {};
  if (const char* named = std::getenv("VRAMFIT_GPU"); named != nullptr && *named != '\0') {
    options.job.gpus = {named};
    return {};
  }
  if (const auto seen = app::card_named_in(files)) {
    options.job.gpus = {seen->total ? fmt::format("{}:{}", seen->card.key, seen->total->count()) : seen->card.key};
    progress.say(fmt::format("no --gpu: a {} as the files have it", seen->card.name));
    return {};
  }
  const auto cards = app::load_catalogue();
  if (!cards) return std::unexpected(cards.error());
  // Cards of a generation for which every build of torch since CUDA 11 has kernels come first.
  const auto rank = [](const model::Card& card) {
    return std::pair(card.capability == model::ComputeCapability{8, 0}, card.memory);
  };
  const auto largest =
      std::max_element(cards->begin(), cards->end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  options.job.gpus = {largest->key};
  progress.say(fmt::format("no --gpu: on a {} ({}), where what fits is not the question", largest->name,
                           base::to_string(largest->memory)));
  return {};
}

app::CaseFiles read_files(const DoctorOptions& options, base::ProgressSink& progress) {
  return app::read_case_files({options.files.begin(), options.files.end()}, progress);
}

// With a script, whose card they may name, the files are read here.
Result<app::DoctorRequest> build(DoctorOptions& options, const Command& command, base::ProgressSink& progress) {
  app::DoctorRequest request;
  if (command.empty() && options.files.empty()) {
    return base::fail(base::ErrorCode::kUsage, "there is nothing to look at", "",
                      "vramfit doctor train.log snapshot.pickle -- python train.py  (any of them; - is stdin)");
  }
  if (!options.job.gpus.empty()) {
    const auto named = app::choose_cards(options.job.gpus);
    if (!named) return std::unexpected(named.error());
    if (!named->cards.empty()) request.card = app::as_chosen(named->cards.front());
  }
  if (command.empty()) return request;
  request.files = read_files(options, progress);
  if (auto chosen = choose_card(options, request.files, progress); !chosen) return std::unexpected(chosen.error());
  auto run = build_request(options.job, command, progress);
  if (!run) return std::unexpected(run.error());
  request.gpu = fmt::format("{}", fmt::join(options.job.gpus, ","));
  request.run = std::move(*run);
  return request;
}

Result<int> act(DoctorOptions options, const Command& command) {
  if (options.job.json == "-" && options.sarif == "-") {
    return base::fail(base::ErrorCode::kUsage, "--json and --sarif can't both be written to standard output", {},
                      "a file for one of them: --sarif findings.sarif");
  }
  JsonOutput output(options.job.json);
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  const std::int64_t began = base::steady_clock().now_ns();
  auto request = build(options, command, progress);
  if (!request) return std::unexpected(request.error());
  history::RunBook book = history::RunBook::begin(
      describe_start("doctor", options.job, command.empty() ? options.files : command, ""), progress);
  job::ColdRunner runner;
  if (command.empty()) request->files = read_files(options, progress);
  const auto diagnosis = app::diagnose(std::move(*request), runner, progress);
  progress.clear();
  if (!diagnosis) return book.fail(diagnosis.error(), progress);
  const std::string json = report::diagnosis_to_json(*diagnosis, VRAMFIT_VERSION);
  const double seconds = base::seconds_between(began, base::steady_clock().now_ns());
  book.finish(history::summarize(*diagnosis, seconds, json), progress);
  if (auto written = output.write(json); !written) return std::unexpected(written.error());
  if (options.job.json != "-" && options.sarif != "-") {  // what a machine reads stands alone
    const std::string text = report::diagnosis_to_text(*diagnosis, {options.job.verbose, !shows_utf8()});
    print_page(wants_color(1) ? report::paint_marks(text) : text);
  }
  const std::string sarif = report::diagnosis_to_sarif(*diagnosis, app::cause_pages(), VRAMFIT_VERSION);
  if (auto written = write_json(options.sarif, sarif); !written) return std::unexpected(written.error());
  return diagnosis->trouble ? 1 : 0;
}

}  // namespace

Verb add_doctor_verb(const Parser& parser) {
  auto options = std::make_shared<DoctorOptions>();
  const Parser verb = parser.add_verb(
      "doctor", "Name the cause of an out-of-memory error from logs, snapshots, nvidia-smi or the script itself");
  add_job_options(verb, options->job);
  verb.option("--gpu").required(false);
  verb.add_option("files", options->files, "Logs, tracebacks, snapshots, nvidia-smi output: known by their content");
  verb.add_option("--sarif", options->sarif, "Write the findings as SARIF 2.1.0 to this file").written_file();
  verb.examples({"vramfit doctor train.log snapshot.pickle", "vramfit doctor --gpu rtx3060 -- python train.py"});
  return {verb, [options](const Command& command) {
            const auto code = act(*options, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
