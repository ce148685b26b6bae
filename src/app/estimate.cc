#include "app/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/nearest_word.h"
#include "ingest/network_files.h"
#include "job/installation.h"

namespace vramfit::app {

namespace fs = std::filesystem;
using base::Result;
using estimate::Numbers;
using estimate::Optimizer;
using estimate::Request;
using estimate::Task;
using model::MeasuredNetwork;
using model::Network;
using model::TransformerShape;

namespace {

Result<std::vector<MeasuredNetwork>> load_networks() {
  const auto installation = job::find_installation();
  if (!installation) return std::unexpected(installation.error());
  return ingest::read_networks(installation->networks());
}

// "resnet50.a1_in1k" of "timm/resnet50.a1_in1k", "resnet18" of "torchvision.models.resnet18".
std::string_view without_library(std::string_view name) {
  for (const std::string_view prefix :
       {"hf-hub:", "hf_hub:", "torchvision.", "models.", "torchvision/", "timm.", "timm/"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  return name;
}

// The name without what timm writes behind a dot: which weights it has.
std::string bare_name(std::string_view name) {
  const std::string_view model = without_library(name);
  return std::string(model.substr(0, model.find('.')));
}

// A name of the hub, "timm/resnet50", is one only where no folder is called so.
bool is_path(const std::string& name) {
  std::error_code ignored;
  if (name.ends_with(".json") || fs::exists(name, ignored)) return true;
  return without_library(name).find('/') != std::string_view::npos;
}

// "meta-llama/Llama-3.1-8B", where there is no such folder.
bool is_of_hub(const std::string& name) {
  std::error_code ignored;
  const bool is_written_as_one = std::ranges::count(name, '/') == 1 && name.front() != '/' && name.front() != '.' &&
                                 name.back() != '/' && !name.ends_with(".json");
  return is_written_as_one && !fs::exists(name, ignored) && !fs::exists(fs::path(name).parent_path(), ignored);
}

// A name in Python source.
std::string quoted(const std::string& text) {
  std::string safe = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    safe += letter == '\n' ? ' ' : letter;
  }
  return safe + "\"";
}

std::string optimizer_line(const std::string& parameters, Optimizer optimizer) {
  if (optimizer == Optimizer::kAdamW) return fmt::format("torch.optim.AdamW({}, lr=1e-4)", parameters);
  return fmt::format("torch.optim.SGD({}, lr=0.01{})", parameters,
                     optimizer == Optimizer::kSgdMomentum ? ", momentum=0.9" : "");
}

// Cards before compute capability 8.0 have no bfloat16: attention in it would not be fused there, and keep its scores.
struct HalfType {
  explicit HalfType(const model::Card& card) : is_bfloat16(card.capability.major >= 8) {}
  const char* torch() const { return is_bfloat16 ? "torch.bfloat16" : "torch.float16"; }
  bool is_bfloat16;
};

// fp16 has too small a range for gradients: their loss is scaled.
std::string step_lines(const std::string& indent, bool scales) {
  const std::string calls = scales ? "{0}scaler.scale(loss).backward()\n{0}scaler.step(optimizer)\n{0}scaler.update()\n"
                                   : "{0}loss.backward()\n{0}optimizer.step()\n";
  return fmt::format(fmt::runtime(calls), indent);
}

const char* scaler_line(bool scales) { return scales ? "scaler = torch.amp.GradScaler(\"cuda\")\n" : ""; }

std::string image_script(const MeasuredNetwork& network, const Request& request, const HalfType& half) {
  const std::int64_t size = request.size > 0 ? request.size : network.size;
  const bool trains = request.task != Task::kInference;
  const std::string cast = request.numbers == Numbers::kBf16 ? fmt::format(".to({})", half.torch()) : "";
  const bool scales = request.numbers == Numbers::kMixed && !half.is_bfloat16;
  std::string text = fmt::format(
      "\"\"\"{} of {}: {}. A start: put your own images, labels and paths in.\"\"\"\n\n"
      "import {}\nimport torch\nfrom torch.utils.data import DataLoader, TensorDataset\n\n"
      "BATCH, SIZE, CLASSES = {}, {}, 1000\n\n"
      "images = torch.randn(4 * BATCH, 3, SIZE, SIZE)  # in place of your own data set\n"
      "labels = torch.randint(0, CLASSES, (4 * BATCH,))\n"
      "loader = DataLoader(TensorDataset(images, labels), batch_size=BATCH, shuffle={})\n\n"
      "model = {}({}){}.cuda(){}\n",
      network.name, network.library, trains ? "training" : "inference", network.library, request.batch, size,
      trains ? "True" : "False", network.library == "timm" ? "timm.create_model" : "torchvision.models.get_model",
      quoted(network.name), cast, trains ? "" : ".eval()");
  const std::string input = fmt::format("images.cuda(){}", cast);
  const std::string autocast = fmt::format("torch.autocast(\"cuda\", {}, enabled={})", half.torch(),
                                           request.numbers == Numbers::kMixed ? "True" : "False");
  if (!trains) {
    return text + fmt::format(
                      "\nwith torch.inference_mode(), {}:\n    for images, _ in loader:\n        classes = "
                      "model({}).argmax(1)\n",
                      autocast, input);
  }
  return text + fmt::format(
                    "optimizer = {}\n{}\n"
                    "for epoch in range(1):\n"
                    "    for images, labels in loader:\n"
                    "        optimizer.zero_grad(set_to_none=True)\n"
                    "        with {}:\n"
                    "            out = model({})\n"
                    "            out = out[0] if isinstance(out, tuple) else out\n"
                    "            loss = torch.nn.functional.cross_entropy(out.float(), labels.cuda())\n"
                    "{}",
                    optimizer_line("model.parameters()", request.optimizer), scaler_line(scales), autocast, input,
                    step_lines("        ", scales));
}

std::string text_script(const TransformerShape& shape, const std::string& name, const Request& request,
                        const HalfType& half) {
  const bool trains = request.task != Task::kInference;
  const std::int64_t sequence = estimate::sequence_of(shape, request);
  const bool keeps_fp32 = trains && request.task == Task::kTrain && request.numbers != Numbers::kBf16;
  const std::string type = keeps_fp32 || request.numbers == Numbers::kFp32 ? "torch.float32" : half.torch();
  const bool scales = request.numbers == Numbers::kMixed && !half.is_bfloat16;
  std::string text = fmt::format(
      "\"\"\"{}: {}. A start: load real weights with from_pretrained, and put your own text in.\"\"\"\n\n"
      "import torch\n{}from transformers import AutoConfig, {}\n\n"
      "BATCH, SEQUENCE = {}, {}\n\n"
      "config = AutoConfig.from_pretrained({}){}\n"
      "model = {}.from_config(config).to({}).cuda(){}\n",
      shape.kind, trains ? request.task == Task::kLora ? "LoRA" : "training" : "inference",
      request.task == Task::kLora ? "from peft import LoraConfig, get_peft_model\n" : "",
      shape.generates ? "AutoModelForCausalLM" : "AutoModelForMaskedLM", request.batch, sequence, quoted(name),
      shape.not_counted.empty() ? "" : ".get_text_config()",
      shape.generates ? "AutoModelForCausalLM" : "AutoModelForMaskedLM", type, trains ? ".train()" : ".eval()");
  if (request.numbers == Numbers::kInt8 || request.numbers == Numbers::kInt4) {
    text +=
        "# Here the frozen weights are in 16 bits: with bitsandbytes, from_pretrained(quantization_config=...) makes "
        "them "
        "small.\n";
  }
  if (request.task == Task::kLora) {
    text +=
        fmt::format("model = get_peft_model(model, LoraConfig(r={}, target_modules=\"all-linear\"))\n", request.rank);
  }
  if (!trains) {
    return text +
           "\nprompt = torch.zeros(BATCH, SEQUENCE, dtype=torch.long, device=\"cuda\")\n"
           "with torch.inference_mode():\n    out = model(prompt, use_cache=True, logits_to_keep=1)\n"
           "    out = model(prompt[:, :1], past_key_values=out.past_key_values, use_cache=True)\n";
  }
  if (request.checkpointing) text += "model.gradient_checkpointing_enable()\n";
  if (request.task == Task::kLora && request.checkpointing) text += "model.enable_input_require_grads()\n";
  return text +
         fmt::format(
             "optimizer = {}\n{}\n"
             "for step in range(4):\n"
             "    tokens = torch.randint(0, config.vocab_size, (BATCH, SEQUENCE)).cuda()  # in place of your own text\n"
             "    optimizer.zero_grad(set_to_none=True)\n"
             "    with torch.autocast(\"cuda\", {}, enabled={}):\n"
             "        loss = model(input_ids=tokens, labels=tokens).loss\n"
             "{}",
             optimizer_line("[p for p in model.parameters() if p.requires_grad]", request.optimizer),
             scaler_line(scales), half.torch(), request.numbers == Numbers::kMixed ? "True" : "False",
             step_lines("    ", scales));
}

}  // namespace

Result<Network> find_network(const std::string& name) {
  if (is_path(name)) {
    if (is_of_hub(name)) {
      const std::string model = name.substr(name.find('/') + 1);
      return base::fail(
          base::ErrorCode::kNotFound, fmt::format("there is no folder {}, and nothing is downloaded here", name),
          "estimate",
          fmt::format("its config.json is enough: hf download {} config.json --local-dir {}, then vramfit "
                      "estimate ./{}",
                      name, model, model));
    }
    auto shape = ingest::read_model_config(name);
    if (!shape) return std::unexpected(shape.error());
    return *shape;
  }
  const auto networks = load_networks();
  if (!networks) return std::unexpected(networks.error());
  const std::string bare = bare_name(name);
  const auto found = std::ranges::find(*networks, bare, &MeasuredNetwork::name);
  if (found != networks->end()) return *found;
  return base::fail(
      base::ErrorCode::kNotFound,
      fmt::format("no network is called \"{}\"{}", name,
                  base::did_you_mean(bare, network_names().value_or(std::vector<std::string>()))),
      "estimate",
      "a folder with the config.json of a Hugging Face model, or one of the networks of torchvision and timm that "
      "classify images (`vramfit estimate --list`); of any other, a run tells: vramfit run --gpu CARD -- python "
      "train.py");
}

Result<std::vector<std::string>> network_names() {
  const auto networks = load_networks();
  if (!networks) return std::unexpected(networks.error());
  std::vector<std::string> names;
  for (const MeasuredNetwork& network : *networks) names.push_back(network.name);
  return names;
}

std::string write_script(const Network& network, const std::string& name, const Request& request,
                         const model::Card& card) {
  const HalfType half(card);
  if (const auto* shape = std::get_if<TransformerShape>(&network)) return text_script(*shape, name, request, half);
  return image_script(std::get<MeasuredNetwork>(network), request, half);
}

std::vector<std::string> packages_of_script(const Network& network, const Request& request) {
  if (const auto* measured = std::get_if<MeasuredNetwork>(&network)) return {measured->library};
  return request.task == Task::kLora ? std::vector<std::string>{"transformers", "peft"}
                                     : std::vector<std::string>{"transformers"};
}

}  // namespace vramfit::app
