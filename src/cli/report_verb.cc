// vramfit report N|SNAPSHOT... -o report.html: runs of the history and memory snapshots as one page.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/parse_number.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/history.h"
#include "views/report.h"

namespace vramfit::cli {

namespace {

struct ReportOptions {
  std::vector<std::string> what;
  std::string file = "report.html";
  bool is_confidential = false;
};

// Numbers are runs, anything else is a file: a file named 12 is ./12.
struct Named {
  std::vector<std::int64_t> runs;
  std::vector<std::filesystem::path> snapshots;
};

Named sort_out(const std::vector<std::string>& what) {
  Named named;
  for (const std::string& word : what) {
    if (const auto number = base::parse_number<std::int64_t>(word)) {
      named.runs.push_back(*number);
    } else {
      named.snapshots.emplace_back(word);
    }
  }
  return named;
}

// Whether all of what was named is on the page.
base::Result<bool> act(const ReportOptions& options) {
  const Named named = sort_out(options.what);
  std::vector<model::StoredRun> runs;
  std::optional<history::History> history;
  if (!named.runs.empty()) {
    auto opened = history::History::open();
    if (!opened) return std::unexpected(opened.error());
    history = std::move(*opened);
    auto loaded = history->load(named.runs, {});
    if (!loaded) return std::unexpected(loaded.error());
    runs = std::move(*loaded);
  }
  std::vector<std::string> damage;
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  const auto html = views::build_report(std::move(runs), named.snapshots,
                                        {.is_confidential = options.is_confidential,
                                         .version = VRAMFIT_VERSION,
                                         .damage = &damage,
                                         .find_run = history ? history->find_run() : history::FindRun()},
                                        progress);
  progress.clear();
  if (!html) return std::unexpected(html.error());
  for (const std::string& told : damage) talk(fmt::format("vramfit: {}\n", told));
  if (options.file == "-") {
    print(*html);
    return damage.empty();
  }
  if (const auto done = base::write_file(options.file, *html); !done) return std::unexpected(done.error());
  talk(fmt::format("{} written ({:.0f} KiB); it needs no other file and no network\n", options.file,
                   static_cast<double>(html->size()) / 1024));
  return damage.empty();
}

}  // namespace

Verb add_report_verb(const Parser& parser) {
  auto options = std::make_shared<ReportOptions>();
  const Parser verb = parser.add_verb("report", "Write runs or memory snapshots as one offline HTML page");
  verb.add_option("what", options->what, "Numbers of runs, files of memory snapshots, or both")
      .required()
      .takes(1, 1000)
      .is_a(grammar::Value::kRunOrFile);
  verb.add_option("-o,--output", options->file, "The file (report.html); - is stdout").written_file();
  verb.add_flag("--confidential", options->is_confidential,
                "Leave out source lines, stacks, phases, paths, command, host, messages and notes");
  verb.examples({"vramfit report 12 14 -o runs.html", "vramfit report snapshot.pickle -o snapshot.html"});
  return {verb, [options](const Command&) {
            const auto done = act(*options);
            if (!done) return report_error(done.error());
            return *done ? 0 : 1;
          }};
}

}  // namespace vramfit::cli
