// vramfit report N... -o report.html: runs of the history as one page.
#include <fmt/format.h>

#include <memory>

#include "app/history.h"
#include "app/report.h"
#include "base/file.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

namespace vramfit::cli {

namespace {

struct ReportOptions {
  std::vector<std::int64_t> numbers;
  std::string file = "report.html";
  bool is_confidential = false;
};

base::Result<void> act(const ReportOptions& options) {
  auto history = app::History::open();
  if (!history) return std::unexpected(history.error());
  auto runs = history->load(options.numbers, {});
  if (!runs) return std::unexpected(runs.error());
  const std::string html =
      app::build_report(std::move(*runs), {.is_confidential = options.is_confidential, .version = VRAMFIT_VERSION});
  if (options.file == "-") {
    print(html);
    return {};
  }
  if (const auto done = base::write_file(options.file, html); !done) return std::unexpected(done.error());
  talk(fmt::format("{} written ({:.0f} KiB); it needs no other file and no network\n", options.file,
                   static_cast<double>(html.size()) / 1024));
  return {};
}

}  // namespace

Verb add_report_verb(CLI::App& parser) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = parser.add_subcommand("report", "Write runs of the history as one offline HTML page");
  verb->add_option("numbers", options->numbers, "One run, or several to set side by side")
      ->required()
      ->expected(1, 1000);
  verb->add_option("-o,--output", options->file, "The file (report.html); - is stdout");
  verb->add_flag("--confidential", options->is_confidential,
                 "Leave out source lines, paths, command, host, messages and notes");
  return {verb, [options](const Command&) {
            const auto done = act(*options);
            return done ? 0 : report_error(done.error());
          }};
}

}  // namespace vramfit::cli
