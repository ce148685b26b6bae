// vramfit gpus: the card catalogue.
#include <memory>

#include "app/catalogue.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/gpus.h"

namespace vramfit::cli {

namespace {

base::Result<int> act(const std::string& json_file) {
  const auto cards = app::load_catalogue();
  if (!cards) return std::unexpected(cards.error());
  const std::string json = report::gpus_to_json(*cards, VRAMFIT_VERSION);
  if (json_file == "-") {
    print(json);
    return 0;
  }
  if (const auto written = write_json(json_file, json); !written) return std::unexpected(written.error());
  print(report::gpus_to_text(*cards));
  return 0;
}

}  // namespace

Verb add_gpus_verb(const Parser& parser) {
  auto json_file = std::make_shared<std::string>();
  const Parser verb = parser.add_verb("gpus", "List the cards that can be emulated");
  verb.add_option("--json", *json_file, "Write the catalogue with all its sources to this file; - is stdout");
  return {verb, [json_file](const Command&) {
            const auto code = act(*json_file);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
