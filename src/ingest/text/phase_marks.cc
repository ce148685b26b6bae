// Where a program was, from the names in its frames.
#include <array>
#include <bitset>
#include <memory>
#include <string>
#include <unordered_map>

#include "ingest/text/cursor.h"
#include "ingest/text/traceback.h"

namespace vramfit::ingest {
namespace {

enum class Where { kFunction, kFile, kCode };

struct Sign {
  std::string_view kind;
  Where where;
  std::string_view word;  // lower case
  bool whole = false;     // the whole name, not a part of it
};

constexpr std::array<Sign, 84> kSigns{{
    {"backward", Where::kFunction, "backward"},
    {"backward", Where::kCode, ".backward("},
    {"backward", Where::kFile, "torch/autograd/__init__.py"},
    {"optimizer_step", Where::kFile, "torch/optim/"},
    {"optimizer_step", Where::kFunction, "optimizer_step"},
    {"optimizer_step", Where::kCode, "optimizer.step("},
    {"optimizer_step", Where::kCode, "optim.step("},
    {"optimizer_step", Where::kCode, "scaler.step("},
    {"optimizer_state", Where::kCode, "zeros_like("},
    {"optimizer_state", Where::kCode, "exp_avg"},
    {"optimizer_state", Where::kFunction, "_init_group"},
    {"evaluation", Where::kFunction, "evaluat"},
    {"evaluation", Where::kFunction, "validat"},
    {"evaluation", Where::kFunction, "eval", true},
    {"evaluation", Where::kFunction, "val", true},
    {"evaluation", Where::kFunction, "eval_"},
    {"evaluation", Where::kFunction, "_eval"},
    {"evaluation", Where::kFunction, "val_"},
    {"evaluation", Where::kFunction, "run_val"},
    {"evaluation", Where::kFunction, "test", true},
    {"evaluation", Where::kFunction, "test_step"},
    {"evaluation", Where::kFunction, "test_epoch"},
    {"evaluation", Where::kFunction, "prediction_step"},
    {"evaluation", Where::kFunction, "predict"},
    {"evaluation", Where::kFunction, "inference"},
    {"training", Where::kFunction, "train", true},
    {"training", Where::kFunction, "training_step"},
    {"training", Where::kFunction, "train_"},
    {"training", Where::kFunction, "inner_training_loop"},
    {"training", Where::kFunction, "fit", true},
    {"no_grad", Where::kFunction, "decorate_context"},
    {"no_grad", Where::kCode, "no_grad("},
    {"no_grad", Where::kCode, "inference_mode("},
    {"loading", Where::kFunction, "load_state_dict"},
    {"loading", Where::kFunction, "from_pretrained"},
    {"loading", Where::kFunction, "_load_from_state_dict"},
    {"loading", Where::kFile, "torch/serialization.py"},
    {"loading", Where::kCode, "torch.load("},
    {"loading", Where::kCode, "load_file("},
    {"loading", Where::kFunction, "load_weights"},
    {"loading", Where::kFunction, "load_model"},
    {"to_device", Where::kCode, ".cuda("},
    {"to_device", Where::kCode, ".to(device"},
    {"to_device", Where::kCode, ".to(\"cuda"},
    {"to_device", Where::kCode, ".to('cuda"},
    {"to_device", Where::kFunction, "convert", true},
    {"to_device", Where::kFunction, "send_to_device"},
    {"pin_memory", Where::kFunction, "pin_memory"},
    {"pin_memory", Where::kFile, "_utils/pin_memory.py"},
    {"data_loading", Where::kFile, "utils/data/"},
    {"data_loading", Where::kFunction, "__getitem__", true},
    {"data_loading", Where::kFunction, "collate"},
    {"collective", Where::kFile, "torch/distributed/"},
    {"collective", Where::kFunction, "all_reduce"},
    {"collective", Where::kFunction, "all_gather"},
    {"compile", Where::kFile, "torch/_dynamo/"},
    {"compile", Where::kFile, "torch/_inductor/"},
    {"graph_capture", Where::kFile, "cuda/graphs.py"},
    {"graph_capture", Where::kFunction, "capture"},
    {"loss", Where::kFunction, "cross_entropy"},
    {"loss", Where::kFunction, "_loss"},
    {"loss", Where::kFunction, "loss_"},
    {"loss", Where::kFile, "nn/modules/loss.py"},
    {"loss", Where::kCode, "cross_entropy("},
    {"logits", Where::kCode, "lm_head("},
    {"logits", Where::kCode, "logits.float("},
    {"metrics", Where::kFile, "torchmetrics/"},
    {"metrics", Where::kFunction, "compute_metrics"},
    {"generation", Where::kFunction, "generate", true},
    {"generation", Where::kFile, "transformers/generation/"},
    {"attention", Where::kFunction, "attention"},
    {"attention", Where::kFunction, "attn"},
    {"attention", Where::kCode, "softmax("},
    {"attention", Where::kCode, "scaled_dot_product_attention("},
    {"convolution", Where::kFile, "nn/modules/conv.py"},
    {"convolution", Where::kCode, "conv2d("},
    {"interpolate", Where::kCode, "interpolate("},
    {"copy", Where::kCode, ".clone("},
    {"copy", Where::kCode, "deepcopy("},
    {"copy", Where::kFunction, "__deepcopy__"},
    {"cat", Where::kCode, "torch.cat("},
    {"cat", Where::kCode, "torch.stack("},
    {"recompute", Where::kFile, "torch/utils/checkpoint.py"},
    {"ema", Where::kFunction, "ema"},
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
      std::string_view last;
      for (std::size_t i = 0; signs.any() && i < kSigns.size(); ++i) {
        if (!signs.test(i) || kSigns[i].kind == last) continue;
        marks.push_back({std::string(kSigns[i].kind), exception, frame});
        last = kSigns[i].kind;
      }
    }
  }
  return marks;
}

}  // namespace vramfit::ingest
