#include "app/catalogue.h"

#include <fmt/format.h>
#include <vramfit/ledger.h>

#include "devices/catalogue.h"
#include "ingest/cards.h"
#include "job/installation.h"

namespace vramfit::app {

using base::Result;

Result<std::vector<model::Card>> load_catalogue() {
  const auto installation = job::find_installation();
  if (!installation) return std::unexpected(installation.error());
  return ingest::read_cards(installation->catalogue());
}

namespace {

Result<std::vector<devices::Match>> find_cards(const std::vector<model::Card>& catalogue,
                                               const devices::CardRequest& request) {
  if (!devices::is_card_file(request.name)) {
    auto match = devices::find_card(catalogue, request.name);
    if (!match) return std::unexpected(match.error());
    return std::vector{std::move(*match)};
  }
  auto cards = ingest::read_cards(request.name, catalogue);
  if (!cards) return std::unexpected(cards.error());
  std::vector<devices::Match> matches;
  for (model::Card& card : *cards) matches.push_back({std::move(card), ""});
  return matches;
}

}  // namespace

Result<ChosenCards> choose_cards(const std::vector<std::string>& options) {
  ChosenCards chosen;
  if (options.size() == 1 && options.front() == "real") {
    chosen.real = true;
    return chosen;
  }
  const auto catalogue = load_catalogue();
  if (!catalogue) return std::unexpected(catalogue.error());
  for (const std::string& option : options) {
    const auto requests = devices::parse_gpu_option(option);
    if (!requests) return std::unexpected(requests.error());
    for (const devices::CardRequest& request : *requests) {
      const auto matches = find_cards(*catalogue, request);
      if (!matches) return std::unexpected(matches.error());
      for (const devices::Match& match : *matches) {
        if (auto clear = devices::check_size(request, match.card); !clear) return std::unexpected(clear.error());
        if (!match.note.empty()) chosen.notes.push_back(match.note);
        for (int i = 0; i < request.count; ++i) chosen.cards.push_back({match.card, request.total});
      }
    }
  }
  constexpr std::size_t kMostCards = VF_MAX_CARDS;
  if (chosen.cards.empty() || chosen.cards.size() > kMostCards) {
    return base::fail(base::ErrorCode::kUsage, "between 1 and 16 cards can be emulated", "--gpu");
  }
  return chosen;
}

model::Card as_chosen(const job::CardChoice& choice) {
  model::Card card = choice.card;
  if (!choice.total) return card;
  card.memory = *choice.total;
  card.mig.clear();
  card.sources["memory"] = fmt::format("as asked for; a {} has {}", card.key, to_string(choice.card.memory));
  return card;
}

}  // namespace vramfit::app
