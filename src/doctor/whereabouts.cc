#include "doctor/whereabouts.h"

#include <algorithm>
#include <array>

#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

// Words of function names that say which stage a frame belongs to.
bool is_evaluation(const StackEntry& entry) {
  const std::string name = lowered(entry.frame.function);
  const std::string& code = entry.frame.code;
  static constexpr std::array kWhole = {"eval", "val", "test", "valid", "test_model", "run_test", "val_one_epoch"};
  if (std::find(kWhole.begin(), kWhole.end(), name) != kWhole.end()) return true;
  if (mentions(name, {"evaluat", "validat", "eval_", "_eval", "val_epoch", "val_loop", "val_step", "run_val",
                      "test_epoch", "test_step", "test_loop", "prediction_step", "prediction_loop", "valid_epoch",
                      "_val", "run_sanity_check"})) {
    return true;
  }
  return entry.own && mentions(code, {"validate(", "evaluate(", "eval_epoch("}) && !mentions(code, {"def "});
}

bool is_training(const StackEntry& entry) {
  const std::string name = lowered(entry.frame.function);
  if (name == "train" || name == "fit" || name == "backward" || name == "train_step" || name == "training_step") {
    return true;
  }
  return mentions(name, {"train_one", "train_epoch", "train_batch", "train_loop", "inner_training_loop", "_train",
                         "train_step", "trainer_step", "optimizer_step"}) ||
         mentions(entry.frame.code, {".backward(", "optimizer.step(", "optim.step(", "scaler.step("});
}

bool is_inference(const StackEntry& entry) {
  const std::string name = lowered(entry.frame.function);
  const std::string file = lowered(entry.frame.file);
  if (name == "generate" || name == "predict" || name == "infer" || name == "sample" || name == "inference")
    return true;
  if (mentions(name, {"inference", "generate_", "predict_", "txt2img", "img2img", "transcribe"})) return true;
  const std::size_t slash = file.find_last_of("/\\");
  const std::string base = slash == std::string::npos ? file : file.substr(slash + 1);
  return entry.own &&
         mentions(base, {"infer", "predict", "demo", "generate", "test.py", "sample", "webui", "app.py", "server"});
}

// A line may hold a forward pass and its backward(): which of them failed shows in the frame it called.
bool is_in_backward(const Stack& stack) {
  if (stack.in_file({"autograd/__init__.py", "autograd/graph.py", "autograd\\__init__.py", "autograd\\graph.py"}))
    return true;
  if (stack.in_function({"run_backward", "backward"}) != nullptr) return true;
  return stack.innermost() != nullptr && mentions(stack.innermost()->frame.code, {".backward("});
}

// The stages are nested: what is innermost counts.
void read_stages(const Scene& scene, Whereabouts& at) {
  const auto& entries = scene.stack.entries();
  std::ptrdiff_t training = -1, evaluation = -1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto place = static_cast<std::ptrdiff_t>(i);
    if (is_evaluation(entries[i])) {
      evaluation = place;
      at.evaluation_frame = entries[i];
    }
    if (is_training(entries[i])) training = place;
    at.inference |= is_inference(entries[i]);
  }
  at.backward = is_in_backward(scene.stack);
  at.optimizer = scene.stack.in_file({"torch/optim/", "torch\\optim\\", "bitsandbytes/optim", "zero/stage",
                                      "runtime/zero"}) != nullptr ||
                 scene.stack.in_code({"optimizer.step(", "optim.step(", "scaler.step(", "opt.step("}) != nullptr;
  at.evaluation = evaluation >= 0 && evaluation >= training && !at.backward && !at.optimizer;
  at.training = !at.evaluation && (training >= 0 || at.backward || at.optimizer);
  at.inference = at.inference && !at.training;
}

// A frame of the decorator, or a library whose evaluations always run without gradients.
bool is_under_no_grad(const Stack& stack, const Whereabouts& at) {
  if (at.training || at.backward || at.optimizer) return false;
  if (at.pictures) return true;  // programs that make pictures never have gradients on
  if (stack.in_code({"no_grad()", "inference_mode()"}) != nullptr) return true;
  if (stack.function_is({"decorate_context", "_no_grad_context", "_no_grad_wrapper"}) != nullptr) return true;
  if (stack.in_file({"grad_mode.py"}) != nullptr) return true;
  const bool trainers = stack.in_function({"evaluation_loop", "prediction_step", "prediction_loop"}) != nullptr ||
                        stack.in_file({"pytorch_lightning/loops", "lightning/pytorch/loops", "transformers/trainer"});
  return trainers || stack.in_file({"transformers/generation"}) != nullptr;
}

void read_run(const Scene& scene, Whereabouts& at) {
  if (!scene.has_run() || !scene.run()->oom) return;
  const std::string& phase = scene.run()->oom->phase;
  at.evaluation |= model::is_evaluation(phase);
  at.training |= phase == model::phase::kTrain;
  if (scene.runtime().oom) at.pin_thread |= scene.runtime().oom->thread == model::ThreadRole::kPin;
}

}  // namespace

Whereabouts find_whereabouts(const Scene& scene) {
  Whereabouts at;
  const Stack& stack = scene.stack;
  read_stages(scene, at);
  at.checkpoint_load =
      stack.in_file({"torch/serialization.py", "torch\\serialization.py", "safetensors/torch.py",
                     "safetensors\\torch.py"}) != nullptr ||
      stack.near_end({"torch.load(", "load_file(", "_cuda_deserialize", "restore_location"}, 6) != nullptr;
  at.placing = !at.training && !at.checkpoint_load &&
               (stack.function_is({"convert", "_apply", "cuda", "to", "to_empty", "caching_allocator_warmup",
                                   "set_module_tensor_to_device"}) != nullptr ||
                stack.in_function({"from_pretrained", "load_model", "load_weights", "load_state_dict",
                                   "_load_pretrained", "dispatch_model", "initialize_model"}) != nullptr ||
                stack.near_end({"model.to(", "model.cuda(", "net.to(", "net.cuda(", "pipe.to("}, 1) != nullptr) &&
               stack.function_is({"forward", "_call_impl", "_wrapped_call_impl"}) == nullptr;
  at.forward =
      !at.backward && stack.function_is({"forward", "_call_impl", "_wrapped_call_impl", "__call__"}) != nullptr;
  at.loss = stack.is_marked(model::FramePhase::kLoss) && !at.backward;
  at.pin_thread = stack.in_file({"_utils/pin_memory.py", "_utils\\pin_memory.py"}) != nullptr ||
                  stack.in_function({"pin_memory"}) != nullptr || mentions(stack.message(), {"pin memory thread"});
  at.data_worker = stack.in_file({"_utils/worker.py", "_utils\\worker.py"}) != nullptr ||
                   mentions(stack.message(), {"dataloader worker process"});
  for (const model::TracedException* exception : scene.chain) {
    at.pin_thread |= mentions(exception->note, {"pin memory thread"});
    at.data_worker |= mentions(exception->note, {"dataloader worker"});
  }
  if (scene.oom != nullptr) {
    at.pin_thread |= mentions(scene.oom->speaker.thread, {"pin"});
    at.data_worker |= scene.oom->speaker.worker.has_value();
  }
  at.graph_capture =
      stack.in_file({"cuda/graphs.py", "cudagraph"}) != nullptr || stack.is_marked(model::FramePhase::kGraphCapture);
  at.serving = stack.in_file({"vllm/", "vllm\\", "sglang", "text_generation_server", "lmdeploy", "tensorrt_llm"}) ||
               (!at.training && (find_server_layout(scene.texts) != nullptr ||
                                 find_remark(scene, model::SentenceKind::kServerCommand) != nullptr));
  at.pictures = !at.training &&
                (stack.in_file({"comfyui", "comfy/", "comfy\\", "stable-diffusion-webui", "sd-webui", "sd.webui",
                                "fooocus", "invokeai"}) != nullptr ||
                 std::any_of(scene.texts.remarks.begin(), scene.texts.remarks.end(),
                             [](const model::Remarkable& one) { return one.kind == model::SentenceKind::kComfyui; }));
  at.inference |= at.pictures;
  at.notebook =
      stack.in_file({"ipython", "ipykernel"}) != nullptr || stack.in_function({"<cell line", "run_code"}) != nullptr;
  read_run(scene, at);
  at.under_no_grad = is_under_no_grad(stack, at);
  return at;
}

}  // namespace vramfit::doctor
