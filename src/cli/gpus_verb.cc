// vramfit gpus: the card catalogue, and one card of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "app/catalogue.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/gpus.h"

namespace vramfit::cli {

namespace {

struct GpusOptions {
  std::vector<std::string> words;  // of one name: gpus RTX 3090
  std::string json;
};

// Named so that `--gpu` takes it: "rtx3090:20480MiB".
model::Card shown(const job::CardChoice& choice) {
  model::Card card = app::as_chosen(choice);
  if (!choice.total) return card;
  const std::int64_t bytes = choice.total->count(), mib = base::Bytes::mib(1).count();
  card.key += bytes % mib == 0 ? fmt::format(":{}MiB", bytes / mib) : fmt::format(":{}", bytes);
  return card;
}

base::Result<std::vector<model::Card>> chosen_cards(const std::string& name) {
  const auto chosen = app::choose_cards({name});
  if (!chosen) return std::unexpected(chosen.error());
  for (const std::string& note : chosen->notes) talk(fmt::format("vramfit: {}\n", note));
  std::vector<model::Card> cards;
  for (const job::CardChoice& choice : chosen->cards) cards.push_back(shown(choice));
  return cards;
}

base::Result<int> act(const GpusOptions& options) {
  const std::string name = fmt::format("{}", fmt::join(options.words, " "));
  if (name == "real") {
    return base::fail(base::ErrorCode::kUsage, "this machine's own cards are not in the catalogue", "gpus",
                      "vramfit watch shows them");
  }
  if (!options.words.empty() && name.find_first_not_of(' ') == std::string::npos) {
    return base::fail(base::ErrorCode::kUsage, "the name of the card is empty", "gpus", "vramfit gpus lists all");
  }
  const auto cards = options.words.empty() ? app::load_catalogue() : chosen_cards(name);
  if (!cards) return std::unexpected(cards.error());
  const std::string json = report::gpus_to_json(*cards, VRAMFIT_VERSION);
  if (const auto written = write_json(options.json, json); !written) return std::unexpected(written.error());
  if (options.json == "-") return 0;
  if (options.words.empty()) {
    print_page(report::gpus_to_text(*cards));
  } else {
    for (const model::Card& card : *cards) print_page(report::gpu_to_text(card));
  }
  return 0;
}

}  // namespace

Verb add_gpus_verb(const Parser& parser) {
  auto options = std::make_shared<GpusOptions>();
  const Parser verb = parser.add_verb("gpus", "List the cards that can be emulated, or show one with its sources");
  verb.add_option("card", options->words, "One card: its figures, their sources, its MIG instances")
      .is_a(grammar::Value::kCard);
  verb.add_option("--json", options->json, "Write the cards with all their sources to this file; - is stdout")
      .written_file();
  verb.examples({"vramfit gpus", "vramfit gpus h100", "vramfit gpus DGX Spark"});
  return {verb, [options](const Command&) {
            const auto code = act(*options);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
