// Where a program was, from the names in its frames.
#include <array>
#include <bitset>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "ingest/text/cursor.h"
#include "ingest/text/traceback.h"

namespace vramfit::ingest {
namespace {

using model::FramePhase;

enum class Where { kFunction, kFile, kCode };

struct Sign {
  FramePhase kind;
  Where where;
  std::string_view word;  // lower case
  bool whole = false;     // the whole name, not a part of it
};

constexpr std::array<Sign, 84> kSigns{{
    {FramePhase::kBackward, Where::kFunction, "backward"},
    {FramePhase::kBackward, Where::kCode, ".backward("},
    {FramePhase::kBackward, Where::kFile, "torch/autograd/__init__.py"},
    {FramePhase::kOptimizerStep, Where::kFile, "torch/optim/"},
    {FramePhase::kOptimizerStep, Where::kFunction, "optimizer_step"},
    {FramePhase::kOptimizerStep, Where::kCode, "optimizer.step("},
    {FramePhase::kOptimizerStep, Where::kCode, "optim.step("},
    {FramePhase::kOptimizerStep, Where::kCode, "scaler.step("},
    {FramePhase::kOptimizerState, Where::kCode, "zeros_like("},
    {FramePhase::kOptimizerState, Where::kCode, "exp_avg"},
    {FramePhase::kOptimizerState, Where::kFunction, "_init_group"},
    {FramePhase::kEvaluation, Where::kFunction, "evaluat"},
    {FramePhase::kEvaluation, Where::kFunction, "validat"},
    {FramePhase::kEvaluation, Where::kFunction, "eval", true},
    {FramePhase::kEvaluation, Where::kFunction, "val", true},
    {FramePhase::kEvaluation, Where::kFunction, "eval_"},
    {FramePhase::kEvaluation, Where::kFunction, "_eval"},
    {FramePhase::kEvaluation, Where::kFunction, "val_"},
    {FramePhase::kEvaluation, Where::kFunction, "run_val"},
    {FramePhase::kEvaluation, Where::kFunction, "test", true},
    {FramePhase::kEvaluation, Where::kFunction, "test_step"},
    {FramePhase::kEvaluation, Where::kFunction, "test_epoch"},
    {FramePhase::kEvaluation, Where::kFunction, "prediction_step"},
    {FramePhase::kEvaluation, Where::kFunction, "predict"},
    {FramePhase::kEvaluation, Where::kFunction, "inference"},
    {FramePhase::kTraining, Where::kFunction, "train", true},
    {FramePhase::kTraining, Where::kFunction, "training_step"},
    {FramePhase::kTraining, Where::kFunction, "train_"},
    {FramePhase::kTraining, Where::kFunction, "inner_training_loop"},
    {FramePhase::kTraining, Where::kFunction, "fit", true},
    {FramePhase::kNoGrad, Where::kFunction, "decorate_context"},
    {FramePhase::kNoGrad, Where::kCode, "no_grad("},
    {FramePhase::kNoGrad, Where::kCode, "inference_mode("},
    {FramePhase::kLoading, Where::kFunction, "load_state_dict"},
    {FramePhase::kLoading, Where::kFunction, "from_pretrained"},
    {FramePhase::kLoading, Where::kFunction, "_load_from_state_dict"},
    {FramePhase::kLoading, Where::kFile, "torch/serialization.py"},
    {FramePhase::kLoading, Where::kCode, "torch.load("},
    {FramePhase::kLoading, Where::kCode, "load_file("},
    {FramePhase::kLoading, Where::kFunction, "load_weights"},
    {FramePhase::kLoading, Where::kFunction, "load_model"},
    {FramePhase::kToDevice, Where::kCode, ".cuda("},
    {FramePhase::kToDevice, Where::kCode, ".to(device"},
    {FramePhase::kToDevice, Where::kCode, ".to(\"cuda"},
    {FramePhase::kToDevice, Where::kCode, ".to('cuda"},
    {FramePhase::kToDevice, Where::kFunction, "convert", true},
    {FramePhase::kToDevice, Where::kFunction, "send_to_device"},
    {FramePhase::kPinMemory, Where::kFunction, "pin_memory"},
    {FramePhase::kPinMemory, Where::kFile, "_utils/pin_memory.py"},
    {FramePhase::kDataLoading, Where::kFile, "utils/data/"},
    {FramePhase::kDataLoading, Where::kFunction, "__getitem__", true},
    {FramePhase::kDataLoading, Where::kFunction, "collate"},
    {FramePhase::kCollective, Where::kFile, "torch/distributed/"},
    {FramePhase::kCollective, Where::kFunction, "all_reduce"},
    {FramePhase::kCollective, Where::kFunction, "all_gather"},
    {FramePhase::kCompile, Where::kFile, "torch/_dynamo/"},
    {FramePhase::kCompile, Where::kFile, "torch/_inductor/"},
    {FramePhase::kGraphCapture, Where::kFile, "cuda/graphs.py"},
    {FramePhase::kGraphCapture, Where::kFunction, "capture"},
    {FramePhase::kLoss, Where::kFunction, "cross_entropy"},
    {FramePhase::kLoss, Where::kFunction, "_loss"},
    {FramePhase::kLoss, Where::kFunction, "loss_"},
    {FramePhase::kLoss, Where::kFile, "nn/modules/loss.py"},
    {FramePhase::kLoss, Where::kCode, "cross_entropy("},
    {FramePhase::kLogits, Where::kCode, "lm_head("},
    {FramePhase::kLogits, Where::kCode, "logits.float("},
    {FramePhase::kMetrics, Where::kFile, "torchmetrics/"},
    {FramePhase::kMetrics, Where::kFunction, "compute_metrics"},
    {FramePhase::kGeneration, Where::kFunction, "generate", true},
    {FramePhase::kGeneration, Where::kFile, "transformers/generation/"},
    {FramePhase::kAttention, Where::kFunction, "attention"},
    {FramePhase::kAttention, Where::kFunction, "attn"},
    {FramePhase::kAttention, Where::kCode, "softmax("},
    {FramePhase::kAttention, Where::kCode, "scaled_dot_product_attention("},
    {FramePhase::kConvolution, Where::kFile, "nn/modules/conv.py"},
    {FramePhase::kConvolution, Where::kCode, "conv2d("},
    {FramePhase::kInterpolate, Where::kCode, "interpolate("},
    {FramePhase::kCopy, Where::kCode, ".clone("},
    {FramePhase::kCopy, Where::kCode, "deepcopy("},
    {FramePhase::kCopy, Where::kFunction, "__deepcopy__"},
    {FramePhase::kCat, Where::kCode, "torch.cat("},
    {FramePhase::kCat, Where::kCode, "torch.stack("},
    {FramePhase::kRecompute, Where::kFile, "torch/utils/checkpoint.py"},
    {FramePhase::kEma, Where::kFunction, "ema"},
}};

using Signs = std::bitset<kSigns.size()>;

bool bears(std::string_view text, const Sign& sign) {
  if (!sign.whole) return contains_ignoring_case(text, sign.word);
  const std::size_t dot = text.rfind('.');
  return same_ignoring_case(dot == std::string_view::npos ? text : text.substr(dot + 1), sign.word);
}

// A log repeats the same few files, functions and lines of code in thousands of frames: each is looked through once.
class KnownNames {
 public:
  explicit KnownNames(Where where) : where_(where) {}

  Signs signs_of(const std::string& name) {
    if (const auto known = signs_.find(name); known != signs_.end()) return known->second;
    Signs signs;
    for (std::size_t i = 0; i < kSigns.size(); ++i) {
      if (kSigns[i].where == where_ && bears(name, kSigns[i])) signs.set(i);
    }
    if (signs_.size() < kMostNames) signs_.emplace(name, signs);
    return signs;
  }

 private:
  static constexpr std::size_t kMostNames = 1 << 14;
  Where where_;
  std::unordered_map<std::string, Signs> signs_;
};

}  // namespace

struct PhaseMarks::Known {
  KnownNames functions{Where::kFunction}, files{Where::kFile}, code{Where::kCode};
};

PhaseMarks::PhaseMarks() : known_(std::make_unique<Known>()) {}
PhaseMarks::~PhaseMarks() = default;

std::vector<model::PhaseMark> PhaseMarks::find(const model::Traceback& traceback) {
  std::vector<model::PhaseMark> marks;
  for (std::size_t exception = 0; exception < traceback.exceptions.size(); ++exception) {
    const auto& frames = traceback.exceptions[exception].frames;
    for (std::size_t frame = 0; frame < frames.size(); ++frame) {
      const model::TraceFrame& names = frames[frame];
      const Signs signs = known_->functions.signs_of(names.function) | known_->files.signs_of(names.file) |
                          known_->code.signs_of(names.code);
      std::optional<FramePhase> last;
      for (std::size_t i = 0; signs.any() && i < kSigns.size(); ++i) {
        if (!signs.test(i) || kSigns[i].kind == last) continue;
        marks.push_back({kSigns[i].kind, exception, frame});
        last = kSigns[i].kind;
      }
    }
  }
  return marks;
}

}  // namespace vramfit::ingest
