#include "app/measured_overhead.h"

#include <fmt/format.h>

#include "ingest/text/read_text.h"
#include "model/oom_figures.h"

namespace vramfit::app {

using base::ErrorCode;

base::Result<job::MeasuredOverhead> read_measured_overhead(const std::filesystem::path& path) {
  const auto evidence = ingest::read_text_evidence(path);
  if (!evidence) return std::unexpected(evidence.error());
  const model::OomMessage* most = nullptr;
  int told = 0, nonsense = 0;
  for (const model::OomMessage& message : evidence->ooms) {
    nonsense += model::figures_disagree(message) ? 1 : 0;
    if (!model::held_outside_pytorch(message)) continue;
    ++told;
    if (most == nullptr || message.arithmetic.context->value > most->arithmetic.context->value) most = &message;
  }
  if (most == nullptr && nonsense > 0) {
    return base::fail(
        ErrorCode::kUsage,
        "the figures of its out-of-memory message don't add up: PyTorch reserved more than the process had",
        path.string(), "--context with a size, such as 400MiB");
  }
  if (most == nullptr) {
    return base::fail(
        ErrorCode::kUsage,
        evidence->ooms.empty()
            ? "there is no out-of-memory message of PyTorch's in it"
            : "no out-of-memory message in it says what the process had in use, allocated and reserved",
        path.string(),
        "a log of PyTorch 2.1 or later with \"this process has ... memory in use\", or --context with a size");
  }
  const std::string which = told == 1 ? "its message" : fmt::format("the largest of its {} messages", told);
  job::MeasuredOverhead held{most->arithmetic.context->value,
                             fmt::format("--context from:{}, {} in line {}", path.string(), which, most->at.line)};
  if (most->total) held.capacity = most->total->value;
  return held;
}

base::Result<void> check_card(const job::MeasuredOverhead& held, const model::Card& card) {
  if (!held.capacity || has_capacity(card, *held.capacity)) return {};
  return base::fail(ErrorCode::kUsage,
                    fmt::format("the message is of a card with {}, and {} has {}", to_string(*held.capacity), card.name,
                                to_string(card.memory)),
                    "--context", "a message of such a card, --gpu with the card of the message, or a size");
}

}  // namespace vramfit::app
