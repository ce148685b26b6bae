// Where a program was, from the names in its frames.
#include <array>

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

bool bears(const model::TraceFrame& frame, const Sign& sign) {
  const std::string& text = sign.where == Where::kFunction ? frame.function
                            : sign.where == Where::kFile   ? frame.file
                                                           : frame.code;
  if (!sign.whole) return contains_ignoring_case(text, sign.word);
  const std::string_view name = text;
  const std::size_t dot = name.rfind('.');
  return same_ignoring_case(dot == std::string_view::npos ? name : name.substr(dot + 1), sign.word);
}

}  // namespace

std::vector<model::PhaseMark> find_phase_marks(const model::Traceback& traceback) {
  std::vector<model::PhaseMark> marks;
  for (std::size_t exception = 0; exception < traceback.exceptions.size(); ++exception) {
    const auto& frames = traceback.exceptions[exception].frames;
    for (std::size_t frame = 0; frame < frames.size(); ++frame) {
      std::string_view last;
      for (const Sign& sign : kSigns) {
        if (sign.kind == last || !bears(frames[frame], sign)) continue;
        marks.push_back({std::string(sign.kind), exception, frame});
        last = sign.kind;
      }
    }
  }
  return marks;
}

}  // namespace vramfit::ingest
