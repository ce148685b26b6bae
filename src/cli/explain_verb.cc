// vramfit explain: what a code of the doctor means, the smallest example, the cure. Needs nothing but itself.
#include <memory>

#include "app/doctor/cause_pages.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/doctor_json.h"
#include "report/doctor_text.h"

namespace vramfit::cli {

namespace {

base::Result<int> act(const std::vector<std::string>& names, const std::string& json_file) {
  std::vector<model::CausePage> pages;
  std::string text;
  for (const std::string& name : names) {
    const auto page = app::find_cause_page(name);
    if (!page) return std::unexpected(page.error());
    text +=
        (pages.empty() ? "" : "\n") + report::cause_to_text(*page, app::example_of(*page), {.ascii = !shows_utf8()});
    pages.push_back(*page);
  }
  if (names.empty()) {
    pages = app::cause_pages();
    text = report::causes_to_text(pages);
  }
  const std::string json = report::causes_to_json(pages, VRAMFIT_VERSION);
  if (json_file == "-") {
    print(json);
    return 0;
  }
  if (auto written = write_json(json_file, json); !written) return std::unexpected(written.error());
  print_page(text);
  return 0;
}

}  // namespace

Verb add_explain_verb(const Parser& parser) {
  struct Options {
    std::vector<std::string> names;
    std::string json;
  };
  auto options = std::make_shared<Options>();
  const Parser verb = parser.add_verb("explain", "What a finding's code means, its smallest example and its cure");
  std::vector<std::string> names;
  for (const model::CausePage& page : app::cause_pages()) names.insert(names.end(), {page.code, page.label});
  verb.add_option("codes", options->names, "VF201, or labels such as leak_growth; without any all are listed")
      .suggests(std::move(names));
  verb.add_option("--json", options->json, "Write it as JSON to this file; - is stdout").written_file();
  verb.examples({"vramfit explain VF201", "vramfit explain leak_growth --json -"});
  return {verb, [options](const Command&) {
            const auto code = act(options->names, options->json);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
