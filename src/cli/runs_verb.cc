// vramfit runs: the history of runs, its notes, tags, export and import; vramfit show N; vramfit compare N M ...
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/file.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/compare.h"
#include "history/history.h"
#include "report/history_json.h"
#include "report/history_text.h"
#include "report/sweep_text.h"

namespace vramfit::cli {

namespace {

using base::Result;

struct RunsOptions {
  model::RunFilter filter{.most = 20};
  bool all = false;
  std::int64_t number = 0;
  std::string note, tag, untag, export_file, import_file, json;
  std::int64_t keep = -1;
  std::int64_t remove = 0;
};

// Text on stdout, or JSON there with "-"; a file of JSON beside the text.
Result<int> show(const std::string& json_file, const std::string& json, const std::string& text) {
  if (json_file == "-") {
    print(json);
    return 0;
  }
  if (const auto written = write_json(json_file, json); !written) return std::unexpected(written.error());
  print_page(text);
  return 0;
}

Result<int> edit(history::History& history, const RunsOptions& options) {
  if (options.number == 0) {
    return base::fail(base::ErrorCode::kUsage, "which run?", "--note, --tag, --untag",
                      "vramfit runs 12 --note \"before the refactoring\"");
  }
  if (!options.note.empty()) {
    const std::string note = options.note == "-" ? "" : options.note;
    if (const auto done = history.store().set_note(options.number, note); !done) return std::unexpected(done.error());
  }
  if (!options.tag.empty()) {
    if (const auto done = history.store().add_tag(options.number, options.tag); !done) {
      return std::unexpected(done.error());
    }
  }
  if (!options.untag.empty()) {
    if (const auto done = history.store().remove_tag(options.number, options.untag); !done) {
      return std::unexpected(done.error());
    }
  }
  const auto run = history.store().find(options.number);
  if (!run) return std::unexpected(run.error());
  print_page(report::stored_run_to_text(*run));
  return 0;
}

Result<int> import_from(history::History& history, const std::string& file) {
  const auto taken = history.import_file(file);
  if (!taken) return std::unexpected(taken.error());
  print(fmt::format("{} runs taken, {} were here already\n", taken->taken, taken->known));
  return 0;
}

Result<int> export_to(history::History& history, const RunsOptions& options, const model::RunFilter& filter) {
  const auto runs =
      history.load(options.number != 0 ? std::vector{options.number} : std::vector<std::int64_t>{}, filter);
  if (!runs) return std::unexpected(runs.error());
  const std::string json = report::history_to_json(*runs, VRAMFIT_VERSION);
  if (options.export_file == "-") {
    print(json);
    return 0;
  }
  if (const auto done = base::write_file(options.export_file, json); !done) return std::unexpected(done.error());
  talk(fmt::format("{} runs written to {}\n", runs->size(), options.export_file));
  return 0;
}

Result<int> act(const RunsOptions& options) {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  model::RunFilter filter = options.filter;
  if (options.all || !options.export_file.empty()) filter.most = 0;
  // A sweep stands for its trials, unless they are asked for.
  filter.with_trials = filter.parent || filter.verb == "trial" || !options.export_file.empty();
  if (!options.import_file.empty()) return import_from(*history, options.import_file);
  if (!options.export_file.empty()) return export_to(*history, options, filter);
  if (options.keep >= 0) {
    const auto removed = history->store().prune(options.keep);
    if (!removed) return std::unexpected(removed.error());
    print(fmt::format("{} runs removed; those with a note or a tag stay\n", *removed));
    return 0;
  }
  if (options.remove != 0) {
    if (const auto done = history->store().remove(options.remove); !done) return std::unexpected(done.error());
    print(fmt::format("run {} removed\n", options.remove));
    return 0;
  }
  if (!options.note.empty() || !options.tag.empty() || !options.untag.empty()) return edit(*history, options);
  if (filter.parent) {
    if (const auto sweep = history->store().find(*filter.parent); !sweep) return std::unexpected(sweep.error());
  }
  const auto runs = history->store().list(filter);
  if (!runs) return std::unexpected(runs.error());
  const bool asks_for_some = filter.parent || !(filter.tag + filter.verb + filter.verdict).empty();
  if (runs->empty() && asks_for_some && options.json.empty()) {
    print("No run of the history is such: `vramfit runs` lists them.\n");
    return 0;
  }
  return show(options.json, report::history_to_json(*runs, VRAMFIT_VERSION), report::history_to_text(*runs));
}

struct NumbersOptions {
  std::vector<std::int64_t> numbers;
  std::string json;
};

Result<std::vector<model::StoredRun>> load(const NumbersOptions& options) {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  return history->load(options.numbers, {});
}

// What the sweep printed when it was run.
std::string sweep_as_told(const model::SweepResult& sweep) {
  std::string text = "\n";
  for (const model::Trial& trial : sweep.trials) text += report::trial_line(sweep.spec, trial, false) + "\n";
  return text + report::sweep_to_text(sweep);
}

Result<int> act_show(const NumbersOptions& options) {
  const auto runs = load(options);
  if (!runs) return std::unexpected(runs.error());
  const model::StoredRun& run = runs->front();
  std::string text = report::stored_run_to_text(run);
  if (const auto sweep = history::read_sweep(run)) text += sweep_as_told(*sweep);
  return show(options.json, report::history_to_json(*runs, VRAMFIT_VERSION), text);
}

Result<int> act_compare(const NumbersOptions& options) {
  auto runs = load(options);
  if (!runs) return std::unexpected(runs.error());
  const model::Comparison comparison = history::compare(std::move(*runs));
  return show(options.json, report::comparison_to_json(comparison, VRAMFIT_VERSION),
              report::comparison_to_text(comparison));
}

int finish(const Result<int>& code) { return code ? *code : report_error(code.error()); }

}  // namespace

Verb add_runs_verb(const Parser& parser) {
  auto options = std::make_shared<RunsOptions>();
  const Parser verb = parser.add_verb("runs", "The numbered history of runs: list, note, tag, export, import");
  verb.add_option("number", options->number, "The run that --note, --tag, --untag or --export is about")
      .is_a(grammar::Value::kRun);
  verb.add_option("--limit", options->filter.most, "The newest so many (20)").positive();
  verb.add_flag("--all", options->all, "All of them");
  verb.add_option("--with-tag", options->filter.tag, "Only runs with this tag");
  verb.add_option("--verb", options->filter.verb, "Only runs of this verb: run, fit, sweep ...");
  verb.add_option("--verdict", options->filter.verdict, "Only runs that ended so: fits, out_of_memory ...")
      .suggests({"fits", "borderline", "out_of_memory", "failed", "interrupted", "no_card"});
  verb.add_option("--of", options->filter.parent, "Only the trials of this sweep");
  verb.add_option("--note", options->note, "Write this beside the run (- takes the note away)");
  verb.add_option("--tag", options->tag, "Give the run this tag");
  verb.add_option("--untag", options->untag, "Take this tag away");
  verb.add_option("--export", options->export_file, "Write the run, or all that are asked for, to this file")
      .written_file();
  verb.add_option("--import", options->import_file, "Take the runs of such a file in").existing_file();
  verb.add_option("--keep", options->keep, "Remove all but the newest so many").not_negative();
  verb.add_option("--remove", options->remove, "Remove this run").positive();
  verb.add_option("--json", options->json, "Write the list to this file; - is stdout").written_file();
  verb.examples(
      {"vramfit runs --verb fit --limit 5", "vramfit runs 12 --tag baseline --note \"before the refactoring\""});
  return {verb, [options](const Command&) { return finish(act(*options)); }};
}

Verb add_show_verb(const Parser& parser) {
  auto options = std::make_shared<NumbersOptions>();
  const Parser verb = parser.add_verb("show", "Tell one run of the history");
  verb.add_option("number", options->numbers, "Its number, as `vramfit runs` lists it")
      .required()
      .takes(1, 1)
      .is_a(grammar::Value::kRun);
  verb.add_option("--json", options->json, "Write all that is known of it to this file; - is stdout").written_file();
  verb.examples({"vramfit show 12", "vramfit show 12 --json -"});
  return {verb, [options](const Command&) { return finish(act_show(*options)); }};
}

Verb add_compare_verb(const Parser& parser) {
  auto options = std::make_shared<NumbersOptions>();
  const Parser verb = parser.add_verb("compare", "Set runs of the history side by side: what changed, memory, time");
  verb.add_option("numbers", options->numbers, "Two or more; changes are told against the first")
      .required()
      .takes(2, 1000)
      .is_a(grammar::Value::kRun);
  verb.add_option("--json", options->json, "Write the comparison to this file; - is stdout").written_file();
  verb.examples({"vramfit compare 12 14", "vramfit compare 12 14 15 --json compared.json"});
  return {verb, [options](const Command&) { return finish(act_compare(*options)); }};
}

}  // namespace vramfit::cli
