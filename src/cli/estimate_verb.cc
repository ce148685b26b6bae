// vramfit estimate: what a network takes, from its shape alone.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/catalogue.h"
#include "app/estimate.h"
#include "base/file.h"
#include "base/shell_word.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/estimate_report.h"

namespace vramfit::cli {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

struct EstimateOptions {
  std::string network, gpu, script, json;
  std::string task = "train", precision, optimizer = "adamw";
  estimate::Request request;
  bool list = false;
};

std::string precision_of(const EstimateOptions& options) {
  if (!options.precision.empty()) return options.precision;
  return options.task == "train" ? "mixed" : "bf16";
}

// Weights that are kept as the model's file says, unless another precision is asked for.
bool is_as_stored(const EstimateOptions& options, const model::Network& network) {
  const auto* shape = std::get_if<model::TransformerShape>(&network);
  return shape != nullptr && shape->quantization && options.precision.empty();
}

Result<estimate::Request> request_of(const EstimateOptions& options, const model::Network& network) {
  estimate::Request request = options.request;
  request.task = *estimate::find_task(options.task);
  request.optimizer = *estimate::find_optimizer(options.optimizer);
  request.numbers = *estimate::find_numbers(precision_of(options));
  request.as_stored = is_as_stored(options, network);
  return request;
}

Result<model::Card> the_card(const std::string& gpu) {
  auto chosen = app::choose_cards({gpu});
  if (!chosen) return std::unexpected(chosen.error());
  if (chosen->real || chosen->cards.size() != 1) {
    return fail(ErrorCode::kUsage, "an estimate is for one card of the catalogue", "--gpu", "--gpu \"RTX 3060\"");
  }
  for (const std::string& note : chosen->notes) talk(fmt::format("vramfit: {}\n", note));
  return app::as_chosen(chosen->cards.front());
}

// What was asked for and would change nothing.
Result<void> check_options(const EstimateOptions& options, const model::Network& network) {
  const auto refuse = [](const char* option, const char* what) {
    return fail(ErrorCode::kUsage, fmt::format("{} means nothing for {}", option, what), "estimate", "leave it out");
  };
  const EstimateOptions usual;
  const bool reads_text = std::holds_alternative<model::TransformerShape>(network);
  const bool trains = options.task != "inference";
  if (!reads_text && options.request.sequence != 0) return refuse("--sequence", "a network for images");
  if (!reads_text && options.request.checkpointing) return refuse("--checkpointing", "a network that was measured");
  if (reads_text && options.request.size != 0) return refuse("--size", "a network for text");
  if (options.task != "lora" && options.request.rank != usual.request.rank) return refuse("--rank", "this task");
  if (!trains && options.request.checkpointing) return refuse("--checkpointing", "inference");
  if (!trains && options.optimizer != usual.optimizer) return refuse("--optimizer", "inference");
  return {};
}

std::string_view word_of(estimate::EstimateVerdict verdict) {
  return verdict == estimate::EstimateVerdict::kProbablyFits      ? "probably_fits"
         : verdict == estimate::EstimateVerdict::kProbablyRunsOut ? "probably_runs_out"
                                                                  : "too_near";
}

// The file that --script wrote, or would.
std::string script_name(const EstimateOptions& options) {
  if (!options.script.empty()) return options.script;
  const std::filesystem::path path = std::filesystem::path(options.network).lexically_normal();
  std::string stem = path.filename() == "config.json" ? path.parent_path().filename().string() : path.stem().string();
  if (stem.empty() || stem == "." || stem == "..") stem = "model";
  return fmt::format("{}_{}.py", options.task == "inference" ? "infer" : "train", stem);
}

// The options that make this estimate, but for what they are anyway.
std::string options_in_words(const EstimateOptions& options) {
  const EstimateOptions usual;
  std::string words;
  const auto add = [&](std::string_view name, const auto& value, const auto& otherwise) {
    if (value != otherwise) words += fmt::format(" --{} {}", name, value);
  };
  add("task", options.task, usual.task);
  add("batch", options.request.batch, usual.request.batch);
  add("sequence", options.request.sequence, usual.request.sequence);
  add("size", options.request.size, usual.request.size);
  add("precision", options.precision, usual.precision);
  add("optimizer", options.optimizer, usual.optimizer);
  add("rank", options.request.rank, usual.request.rank);
  return words + (options.request.checkpointing ? " --checkpointing" : "");
}

report::EstimateView view_of(const EstimateOptions& options, const estimate::Request& request, const model::Card& card,
                             const estimate::Estimate& told) {
  report::EstimateView view;
  view.network = options.network;
  view.task = options.task;
  view.numbers = precision_of(options);
  if (request.task != estimate::Task::kInference) view.optimizer = options.optimizer;
  view.card = card.name, view.card_key = card.key, view.card_memory = card.memory;
  view.batch = request.batch, view.sequence = request.sequence, view.size = request.size;
  view.parameters = told.parameters, view.trained = told.trained;
  view.fullest_stage = told.fullest_stage;
  for (const estimate::Part& part : told.parts) view.parts.push_back({part.what, part.how, part.bytes});
  view.tensors = told.tensors, view.reserved = told.reserved, view.outside = told.outside;
  view.peak = told.peak, view.low = told.low, view.high = told.high;
  view.verdict = word_of(told.verdict);
  view.largest_batch = told.largest_batch;
  const std::string script = script_name(options);
  if (options.script.empty()) {
    view.proof.push_back(fmt::format("vramfit estimate {} --gpu {}{} --script {}",
                                     base::quote_for_shell(options.network), base::quote_for_shell(options.gpu),
                                     options_in_words(options), base::quote_for_shell(script)));
  }
  view.proof.push_back(fmt::format("vramfit run --gpu {} -- python {}", base::quote_for_shell(options.gpu),
                                   base::quote_for_shell(script)));
  return view;
}

// What of quantized weights is taken for granted, and what the script is not.
void add_notes(report::EstimateView& view, const model::TransformerShape& shape, const estimate::Request& request,
               const EstimateOptions& options) {
  const bool is_asked = request.numbers == estimate::Numbers::kInt4 || request.numbers == estimate::Numbers::kInt8;
  if (shape.quantization && is_asked) {
    view.notes.push_back(fmt::format("Its file says that it is quantized already ({}): counted as if it were not",
                                     shape.quantization->method));
  } else if (shape.quantization && !request.as_stored) {
    view.notes.push_back(fmt::format("Its file says that it is quantized ({}): counted as read back to {}",
                                     shape.quantization->method, options.precision));
  }
  if (request.as_stored) {
    view.numbers = shape.quantization->method;
    view.notes.push_back(
        fmt::format("Weights as its quantization_config says ({}): without the kernels for it "
                    "transformers reads them back to 16 bits",
                    shape.quantization->method));
  } else if (is_asked) {
    view.notes.push_back(request.numbers == estimate::Numbers::kInt4
                             ? "As bitsandbytes keeps them, with double quantization (bnb_4bit_use_double_quant), "
                               "without which it is 0.37 bits more each; embeddings, head and norms stay in 16 bits"
                             : "As bitsandbytes keeps them: embeddings, head and norms stay in 16 bits");
  }
  if (request.as_stored || is_asked) {
    view.notes.emplace_back(
        "The script has all weights in 16 bits: its run proves what it takes so, which is more. For the estimate to be "
        "proven, load the real weights in it, with from_pretrained");
  }
}

Result<int> act(EstimateOptions options) {
  if (options.list) {
    const auto names = app::network_names();
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names) print(name + "\n");
    return 0;
  }
  if (options.network.empty() || options.gpu.empty()) {
    return fail(ErrorCode::kUsage, options.network.empty() ? "which network?" : "for which card?", "estimate",
                "vramfit estimate resnet50 --gpu \"RTX 3060\" --batch 32");
  }
  const auto card = the_card(options.gpu);
  if (!card) return std::unexpected(card.error());
  const auto network = app::find_network(options.network);
  if (!network) return std::unexpected(network.error());
  if (const auto* named = std::get_if<model::MeasuredNetwork>(&*network)) options.network = named->name;
  const auto request = request_of(options, *network);
  if (!request) return std::unexpected(request.error());
  if (auto means = check_options(options, *network); !means) return std::unexpected(means.error());
  const auto told = estimate::estimate(*network, *request, *card);
  if (!told) return std::unexpected(told.error());
  report::EstimateView view = view_of(options, *request, *card, *told);
  view.packages = app::packages_of_script(*network, *request);
  if (const auto* shape = std::get_if<model::TransformerShape>(&*network)) {
    view.not_counted = shape->not_counted;
    add_notes(view, *shape, *request, options);
    if (!shape->known) view.unknown_kind = shape->kind.empty() ? "(none)" : shape->kind;
  }
  if (!options.script.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(options.script, ignored)) {
      return fail(ErrorCode::kUsage, "there is such a file already", options.script, "--script with another name");
    }
    const std::string script = app::write_script(*network, options.network, *request, *card);
    if (const auto written = base::write_file(options.script, script); !written)
      return std::unexpected(written.error());
  }
  if (const auto written = write_json(options.json, report::estimate_to_json(view, VRAMFIT_VERSION)); !written) {
    return std::unexpected(written.error());
  }
  if (options.json != "-") print_page(report::estimate_to_text(view));
  return 0;
}

}  // namespace

Verb add_estimate_verb(const Parser& parser) {
  auto options = std::make_shared<EstimateOptions>();
  estimate::Request& request = options->request;
  const Parser verb =
      parser.add_verb("estimate", "Guess from a network's shape what it takes of a card; a run proves it");
  verb.add_option("network", options->network,
                  "A folder with a Hugging Face config.json, or a name of torchvision or timm")
      .is_a(grammar::Value::kNetworkOrFile);
  verb.add_option("--gpu,-g", options->gpu, "The card, as for run").is_a(grammar::Value::kCard);
  verb.add_option("--task", options->task, "train (default), lora, or inference, with a KV cache where it generates")
      .one_of({"train", "lora", "inference"});
  verb.add_option("--batch", request.batch, "Samples at once (1)");
  verb.add_option("--sequence", request.sequence, "Tokens of one (2048, or the longest that the model takes)")
      .positive();
  verb.add_option("--size", request.size, "Pixels of an image's side (the network's own)").positive();
  verb.add_option("--precision", options->precision,
                  "fp32, mixed (FP32 weights under autocast; of training the default), bf16, int8, int4")
      .one_of({"fp32", "mixed", "bf16", "int8", "int4"}, {{"fp16", "mixed"}});
  verb.add_option("--optimizer", options->optimizer, "adamw (default), sgd-momentum, sgd")
      .one_of({"adamw", "sgd-momentum", "sgd"});
  verb.add_option("--rank", request.rank, "Of LoRA (8)").positive();
  verb.add_flag("--checkpointing", request.checkpointing, "Activations of a layer are computed again in backward");
  verb.add_option("--script", options->script, "Write a script to start from to this new file")
      .is_a(grammar::Value::kFile);
  verb.add_flag("--list", options->list, "The names of networks that are known");
  verb.add_option("--json", options->json, "Write the estimate to this file; - is stdout").written_file();
  verb.examples({"vramfit estimate resnet50 --gpu \"GTX 1650\" --batch 32 --script train.py",
                 "vramfit estimate ./Llama-3.1-8B --gpu rtx4090 --task inference --sequence 8192"});
  return {verb, [options](const Command&) {
            const auto code = act(*options);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
