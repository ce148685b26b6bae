#include "plan/several_cards.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "devices/overhead.h"
#include "model/number_text.h"
#include "plan/evaluation.h"
#include "plan/hardware.h"

namespace vramfit::plan {
namespace {

constexpr std::array<int, 3> kSharers = {2, 4, 8};
constexpr double kKeptFree = 0.03;  // of the card, beside the figure
// More micro-batches than this for each stage hardly shorten the wait (GPipe, arXiv 1811.06965: from 4 on).
constexpr std::int64_t kMostParts = 4;

// The shares of one card's memory that each of several cards holds.
struct CardShares {
  double weights = 1, gradients = 1, optimizer = 1, samples = 1;
};

class Sharing {
 public:
  Sharing(const model::Job& job, const Target& target, int cards)
      : job_(job), target_(target), cards_(cards), part_(1.0 / cards) {}

  int cards() const { return cards_; }
  bool fits(Bytes needs) const { return needs <= scaled(target_.limit, 1 - kKeptFree); }
  // "3.12 GiB (fits)"
  std::string tell(Bytes needs) const {
    return fmt::format("{} ({})", to_string(needs), fits(needs) ? "fits" : "does not fit");
  }

  Bytes copies() const { return hold({.samples = part_}); }
  // DistributedDataParallel keeps gradients a second time, in buckets (gradient_as_bucket_view=False).
  Bytes copies_that_train() const { return copies() + buckets(); }
  // ZeRO's three stages (arXiv 1910.02054): state, gradients, weights; the layer at work is whole.
  Bytes sharded_state() const { return hold({.optimizer = part_, .samples = part_}) + buckets(); }
  Bytes sharded_gradients() const { return hold({.gradients = part_, .optimizer = part_, .samples = part_}); }
  Bytes sharded_weights() const { return hold({part_, part_, part_, part_}) + largest(); }
  // Megatron (arXiv 1909.08053, 2205.05198): what lies between the cut layers is whole on each, or cut along the
  // sequence too. How much of the activations that is depends on the network.
  Bytes cut_layers(bool cuts_between) const { return hold({part_, part_, part_, cuts_between ? part_ : 1}); }
  // All micro-batches of a stage's layers are alive when backward begins: the batch's activations of these layers.
  Bytes stages() const { return hold({part_, part_, part_, part_}); }

  Bytes buckets() const { return bytes_of_gradients(job_); }

 private:
  Bytes largest() const { return job_.optimizer ? job_.optimizer->largest : Bytes(0); }

  Bytes hold(const CardShares& shares) const {
    Forecast forecast = start_forecast(job_);
    const bool training = trains(job_);
    if (training)
      std::erase_if(forecast.stage_peaks, [](const auto& moment) { return moment.phase != model::phase::kTrain; });
    for (const std::string_view phase : {model::phase::kTrain, model::phase::kValidate, model::phase::kTest})
      scale_batch(forecast, phase, shares.samples);
    for (model::StagePeak& moment : forecast.stage_peaks) {
      model::Holdings& holdings = moment.holdings;
      holdings.weights = scaled(holdings.weights, shares.weights);
      holdings.gradients = scaled(holdings.gradients, shares.gradients);
      holdings.optimizer = scaled(holdings.optimizer, shares.optimizer);
      // An optimizer's temporaries follow its shard.
      if (moment.stage == model::stage::kOptimizer)
        holdings.temporaries = scaled(holdings.temporaries, shares.optimizer);
    }
    return add_up(job_, forecast).needs + devices::estimate_nccl_channels(target_.card);
  }

  const model::Job& job_;
  const Target& target_;
  int cards_;
  double part_;
};

std::int64_t training_batch_of(const model::Job& job) {
  const model::LoaderFacts* loader =
      trains(job) ? model::find_loader(job, model::phase::kTrain) : find_evaluation_loader(job);
  return loader != nullptr ? loader->batch_size : 0;
}

Sharing choose_count(const model::Job& job, const Target& target) {
  for (const int count : kSharers) {
    const Sharing sharing(job, target, count);
    if (sharing.fits(sharing.sharded_weights())) return sharing;
  }
  return {job, target, kSharers.back()};
}

void advise_training(const model::Job& job, const Sharing& sharing, std::vector<std::string>& advice) {
  const int cards = sharing.cards();
  const std::int64_t batch = training_batch_of(job);
  const std::string few =
      batch > 0 && batch < cards ? fmt::format("; a batch of {} is too small to split so", batch) : "";
  advice.push_back(fmt::format(
      "{} such cards, each with all of the network and 1/{} of the batch (DistributedDataParallel): {} each; weights, "
      "gradients and optimizer state do not shrink, and buckets for gradients add {}{}",
      cards, cards, sharing.tell(sharing.copies_that_train()), to_string(sharing.buckets()), few));
  advice.push_back(fmt::format(
      "{} such cards, the batch split and besides in shards (ZeRO, FSDP): optimizer state {} each, gradients too {}, "
      "weights too {}, where the layer at work is whole",
      cards, sharing.tell(sharing.sharded_state()), sharing.tell(sharing.sharded_gradients()),
      sharing.tell(sharing.sharded_weights())));
  advice.push_back(fmt::format(
      "{} such cards, each layer cut (tensor parallel): from {} each where activations are all cut with them, to {} "
      "where none are; the batch is whole on each",
      cards, sharing.tell(sharing.cut_layers(true)), sharing.tell(sharing.cut_layers(false))));
  const std::int64_t parts = batch > 0 ? std::min(batch, kMostParts * cards) : kMostParts * cards;
  advice.push_back(fmt::format(
      "{} such cards, the layers in {} even stages (pipeline, GPipe): {} each; with {} micro-batches a card waits for "
      "{:.0f} % of a step, ({} - 1) / ({} + {} - 1)",
      cards, cards, sharing.tell(sharing.stages()), parts, 100.0 * (cards - 1) / static_cast<double>(parts + cards - 1),
      cards, parts, cards));
}

void advise_inference(const Sharing& sharing, std::vector<std::string>& advice) {
  const int cards = sharing.cards();
  advice.push_back(
      fmt::format("distributed inference on {} such cards: all of the network on each and 1/{} of the batch, {} each; "
                  "its layers in "
                  "{} even stages (as device_map does) with 1/{} of the batch at a time, {} each",
                  cards, cards, sharing.tell(sharing.copies()), cards, cards, sharing.tell(sharing.stages())));
}

}  // namespace

std::vector<std::string> advise_several_cards(const model::Job& job, const Target& target) {
  std::vector<std::string> advice;
  if (add_up(job, start_forecast(job)).needs <= target.limit) return advice;
  const Sharing sharing = choose_count(job, target);
  if (trains(job)) {
    advise_training(job, sharing, advice);
  } else {
    advise_inference(sharing, advice);
  }
  return advice;
}

}  // namespace vramfit::plan
