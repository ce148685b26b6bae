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
  estimate::Wishes wishes;
  bool list = false;
};

std::string precision_of(const EstimateOptions& options) {
  if (!options.precision.empty()) return options.precision;
  return options.task == "train" ? "mixed" : "bf16";
}

Result<estimate::Wishes> wishes_of(const EstimateOptions& options) {
  estimate::Wishes wishes = options.wishes;
  wishes.task = *estimate::find_task(options.task);
  wishes.optimizer = *estimate::find_optimizer(options.optimizer);
  wishes.numbers = *estimate::find_numbers(precision_of(options));
  return wishes;
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
  if (!reads_text && options.wishes.sequence != 0) return refuse("--sequence", "a network for images");
  if (!reads_text && options.wishes.checkpointing) return refuse("--checkpointing", "a network that was measured");
  if (reads_text && options.wishes.size != 0) return refuse("--size", "a network for text");
  if (options.task != "lora" && options.wishes.rank != usual.wishes.rank) return refuse("--rank", "this task");
  if (!trains && options.wishes.checkpointing) return refuse("--checkpointing", "inference");
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
  add("batch", options.wishes.batch, usual.wishes.batch);
  add("sequence", options.wishes.sequence, usual.wishes.sequence);
  add("size", options.wishes.size, usual.wishes.size);
  add("precision", options.precision, usual.precision);
  add("optimizer", options.optimizer, usual.optimizer);
  add("rank", options.wishes.rank, usual.wishes.rank);
  return words + (options.wishes.checkpointing ? " --checkpointing" : "");
}

report::EstimateView view_of(const EstimateOptions& options, const estimate::Wishes& wishes, const model::Card& card,
                             const estimate::Estimate& told) {
  report::EstimateView view;
  view.network = options.network;
  view.task = options.task;
  view.numbers = precision_of(options);
  if (wishes.task != estimate::Task::kInference) view.optimizer = options.optimizer;
  view.card = card.name, view.card_key = card.key, view.card_memory = card.memory;
  view.batch = wishes.batch, view.sequence = wishes.sequence, view.size = wishes.size;
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
  const auto wishes = wishes_of(options);
  if (!wishes) return std::unexpected(wishes.error());
  if (auto means = check_options(options, *network); !means) return std::unexpected(means.error());
  const auto told = estimate::estimate(*network, *wishes, *card);
  if (!told) return std::unexpected(told.error());
  report::EstimateView view = view_of(options, *wishes, *card, *told);
  view.packages = app::packages_of_script(*network, *wishes);
  if (const auto* shape = std::get_if<model::TransformerShape>(&*network)) {
    view.not_counted = shape->not_counted;
    if (!shape->known) view.unknown_kind = shape->kind.empty() ? "(none)" : shape->kind;
  }
  if (!options.script.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(options.script, ignored)) {
      return fail(ErrorCode::kUsage, "there is such a file already", options.script, "--script with another name");
    }
    const std::string script = app::write_script(*network, options.network, *wishes, *card);
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
  estimate::Wishes& wishes = options->wishes;
  const Parser verb =
      parser.add_verb("estimate", "Guess from a network's shape what it takes of a card; a run proves it");
  verb.add_option("network", options->network,
                  "A folder with a Hugging Face config.json, or a name of torchvision or timm")
      .is_a(grammar::Value::kFile);
  verb.add_option("--gpu,-g", options->gpu, "The card, as for run").is_a(grammar::Value::kCard);
  verb.add_option("--task", options->task, "train (default), lora, or inference, with a KV cache where it generates")
      .one_of({"train", "lora", "inference"});
  verb.add_option("--batch", wishes.batch, "Samples at once (1)");
  verb.add_option("--sequence", wishes.sequence, "Tokens of one (2048, or the longest that the model takes)")
      .positive();
  verb.add_option("--size", wishes.size, "Pixels of an image's side (the network's own)").positive();
  verb.add_option("--precision", options->precision,
                  "fp32, mixed (FP32 weights under autocast; of training the default), bf16, int8, int4")
      .one_of({"fp32", "mixed", "bf16", "int8", "int4"});
  verb.add_option("--optimizer", options->optimizer, "adamw (default), sgd-momentum, sgd")
      .one_of({"adamw", "sgd-momentum", "sgd"});
  verb.add_option("--rank", wishes.rank, "Of LoRA (8)").positive();
  verb.add_flag("--checkpointing", wishes.checkpointing, "Activations of a layer are computed again in backward");
  verb.add_option("--script", options->script, "Write a script to start from to this new file")
      .is_a(grammar::Value::kFile);
  verb.add_flag("--list", options->list, "The names of networks that are known");
  verb.add_option("--json", options->json, "Write the estimate to this file; - is stdout").is_a(grammar::Value::kFile);
  verb.examples({"vramfit estimate resnet50 --gpu \"GTX 1650\" --batch 32 --script train.py",
                 "vramfit estimate ./Llama-3.1-8B --gpu rtx4090 --task inference --sequence 8192"});
  return {verb, [options](const Command&) {
            const auto code = act(*options);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
