// The optimizer's own memory: temporaries of its step first (foreach=False, fused=True: the same updates), then other
// optimizers that keep less state, which change what is learned.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "model/number_text.h"
#include "plan/promise.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// foreach updates all parameters at once and needs temporaries of that size; one by one, the largest tensor's.
constexpr double kTemporariesOneByOne = 0.1;
// torch.optim.Adafactor keeps a row and a column per matrix: of large ones, without the sizes of a job's own.
constexpr double kAdafactorState = 0.02;
// Bytes of one parameter: a moment of one byte and a scale per 256 elements (bitsandbytes' blockwise quantization,
// arXiv 2110.02861). Its tensors of less than 4096 elements stay in 32 bits.
constexpr double kEightBitMoment = 1 + 4.0 / 256;
constexpr double kBytesOfNumber = 4;
constexpr std::string_view kLion = "bitsandbytes.optim.Lion8bit";  // one moment, in 8 bits (arXiv 2302.06675)
constexpr std::array<std::string_view, 3> kHaveFused = {"Adam", "AdamW", "SGD"};
constexpr std::array<std::string_view, 8> kHaveForeach = {"Adam",  "AdamW",  "SGD",     "NAdam",
                                                          "RAdam", "Adamax", "RMSprop", "Adagrad"};

bool keeps_two_moments(std::string_view name) {
  return name == "Adam" || name == "AdamW" || name == "NAdam" || name == "RAdam" || name == "Adamax";
}

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The class of bitsandbytes that takes the place of one of torch.optim; empty where there is none.
std::string_view find_eight_bit(std::string_view name) {
  if (name == "Adam") return "bitsandbytes.optim.Adam8bit";
  return name == "AdamW" ? "bitsandbytes.optim.AdamW8bit" : "";
}

model::Change make_change(std::string name, model::Options options) {
  return {"optimizer", {{"name", std::move(name)}, {"options", std::move(options)}}};
}

class Optimizer final : public Technique {
 public:
  std::string_view id() const override { return "optimizer"; }
  ActsIn acts_in() const override { return ActsIn::kTraining; }

  Applicability applies_to(const model::Job& job, const Target& target) const override {
    if (!job.optimizer) return not_possible("no optimizer of torch.optim was seen");
    if (options(job, target).empty()) return in_force(job.optimizer->class_name + " already keeps as little as it can");
    return applicable();
  }

  std::vector<model::Change> options(const model::Job& job, const Target&) const override {
    const model::OptimizerFacts& facts = *job.optimizer;
    std::vector<model::Change> changes;
    const bool one_pass = facts.fused.value_or(false);
    if (contains(kHaveForeach, facts.class_name) && facts.foreach.value_or(true) && !one_pass) {
      changes.push_back(make_change(facts.class_name, {{"foreach", false}}));
    }
    if (contains(kHaveFused, facts.class_name) && !one_pass) {
      changes.push_back(make_change(facts.class_name, {{"fused", true}}));
    }
    const auto same = static_cast<std::ptrdiff_t>(changes.size());
    if (const auto eight_bit = find_eight_bit(facts.class_name); facts.has_bitsandbytes && !eight_bit.empty()) {
      changes.push_back({"optimizer", {{"name", std::string(eight_bit)}}});
      changes.push_back({"optimizer", {{"name", std::string(kLion)}}});
    }
    if (keeps_two_moments(facts.class_name)) {
      changes.push_back(make_change("SGD", {{"momentum", 0.9}, {"foreach", false}}));
      changes.push_back(make_change("Adafactor", {{"foreach", false}}));
    }
    std::ranges::stable_sort(changes.begin() + same, changes.end(), std::ranges::greater(),
                             [&](const model::Change& change) {
                               return share_of_state(job, model::find_text(change, "name").value_or(""));
                             });
    std::erase_if(changes, [&](const model::Change& change) {  // a network of small kernels, whose rows are as many
      return share_of_state(job, model::find_text(change, "name").value_or("")) > 1;
    });
    return changes;
  }

  void predict(const model::Job& job, const Target&, const model::Change& change, Forecast& forecast) const override {
    const std::string name = model::find_text(change, "name").value_or("");
    const double state = share_of_state(job, name);
    for (model::StagePeak& moment : forecast.stage_peaks) {
      moment.holdings.optimizer = scaled(moment.holdings.optimizer, state);
      if (moment.stage != model::stage::kOptimizer) continue;
      moment.holdings.temporaries = scaled(moment.holdings.temporaries, kTemporariesOneByOne);
    }
    predict_launches(is_fused(change) || name.ends_with("8bit"), forecast.work);
    if (is_fused(change)) worsen(forecast, Effect::kRounding, "the optimizer's sums are rounded in another order");
    if (is_eight_bit(change)) {
      worsen(forecast, Effect::kPrecision, "Adam's moments are kept in 8 bits, in blocks of 256 (bitsandbytes)");
    } else if (name != job.optimizer->class_name) {
      forecast.uncertainty = std::max(forecast.uncertainty, 0.05);
      worsen(forecast, Effect::kOptimizer,
             fmt::format("{} instead of {}: learning rate and schedule have to be found again",
                         name.substr(name.rfind('.') + 1), job.optimizer->class_name));
    }
  }

  std::string describe(const model::Change& change) const override {
    const std::string name = model::find_text(change, "name").value_or("");
    if (is_fused(change)) return name + " fused";
    if (name.ends_with("8bit")) return name.substr(name.rfind('.') + 1);
    return name == "Adafactor" || is_swap_to_sgd(change) ? name : name + " foreach=False";
  }

 private:
  static const model::Options* find_options(const model::Change& change) {
    const auto found = change.settings.find("options");
    return found == change.settings.end() ? nullptr : std::get_if<model::Options>(&found->second);
  }

  static bool is_fused(const model::Change& change) {
    const model::Options* options = find_options(change);
    return options != nullptr && options->contains("fused");
  }

  static bool is_swap_to_sgd(const model::Change& change) {
    const model::Options* options = find_options(change);
    return options != nullptr && options->contains("momentum");
  }

  // torch.optim keeps a moment in the type of its parameter.
  static double share_of_eight_bits(const model::Job& job) {
    const bool is_known = job.parameters > 0 && job.parameter_bytes > Bytes();
    return kEightBitMoment /
           (is_known ? static_cast<double>(job.parameter_bytes.count()) / static_cast<double>(job.parameters)
                     : kBytesOfNumber);
  }

  static double share_of_state(const model::Job& job, std::string_view to) {
    const model::OptimizerFacts& from = *job.optimizer;
    if (from.class_name == to) return 1;
    if (to == find_eight_bit(from.class_name)) return share_of_eight_bits(job);
    if (to == kLion) return share_of_eight_bits(job) / 2;
    if (to != "Adafactor") return 0.5;  // SGD keeps one moment of the two
    if (from.factored <= Bytes() || from.state <= Bytes()) return kAdafactorState;
    return static_cast<double>(from.factored.count()) / static_cast<double>(from.state.count());
  }

  // One parameter at a time takes many launches where foreach takes a few; fused takes next to none.
  static void predict_launches(bool fused, model::StepWork& work) {
    const double now = work.optimizer_launches;
    const double then = fused ? now * 0.2 : now * 8;
    work.launches += then - now;
    work.optimizer_launches = then;
  }
};

}  // namespace

const Technique& optimizer() {
  static const Optimizer kTechnique;
  return kTechnique;
}

}  // namespace vramfit::plan
