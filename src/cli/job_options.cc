#include "cli/job_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/catalogue.h"
#include "app/measured_overhead.h"
#include "base/file.h"
#include "base/nearest_word.h"
#include "base/subprocess.h"
#include "cli/terminal.h"
#include "history/job_identity.h"
#include "job/learned.h"
#include "job/run_on.h"

namespace vramfit::cli {

using base::ErrorCode;
using base::Result;

void add_job_options(const Parser& parser, JobOptions& options) {
  parser.takes_command();
  parser
      .add_option("--gpu,-g", options.gpus,
                  "The card: \"GTX 1070\", 8xV100-32GB, rtx3090:20GiB, a list, a TOML file, or real")
      .required()
      .one_value_each()
      .is_a(grammar::Value::kCard);
  parser.add_option("--steps", options.steps,
                    "auto (a few batches a pass; the default on virtual cards), all (the default on real ones, where "
                    "the job writes to your files), or a number of batches a pass");
  parser
      .add_option(
          "--within", options.within,
          "How long everything is run before anything is left out: seconds (20, or VRAMFIT_WITHIN; 8-20 ends from 8 on "
          "where memory has long shown nothing new), a number of batches and steps (500n), or 0: the short cut alone")
      .variable("VRAMFIT_WITHIN");
  parser
      .add_option(
          "--values", options.values,
          "auto (default: kernels compute nothing, until the script reads a value that steers it), zeros (nothing, to "
          "the end), tracked (what steers the script is followed from the start) or cpu (exact, slow)")
      .one_of({"auto", "zeros", "tracked", "cpu"});
  parser.add_option("--occupied", options.occupied, "Memory that others hold on each card, 2GiB");
  parser.add_option("--context", options.context,
                    "What a CUDA context takes on this card, if you know it: 1343MiB; or from:FILE, what a log's "
                    "out-of-memory message tells of context and libraries");
  parser.add_option("--cudnn", options.cudnn,
                    "Who says what workspaces convolutions need: auto (the cuDNN beside your torch, from 9.8 on, else "
                    "recorded), recorded (tables of published networks), zero, or the folder of a libcudnn_graph.so.9");
  parser
      .add_option(
          "--address-order", options.address_order,
          "How the card's driver hands out addresses, which decides between free blocks of one size: linux, wsl "
          "(also Windows), or auto (what vramfit check --learn kept, else linux)")
      .one_of({"auto", "linux", "wsl"});
  parser.add_flag("--no-learned", options.no_learned, "Leave out what vramfit check --learn kept of this card");
  parser.add_option("--torch", options.torch, "Run in an environment of vramfit's own with this PyTorch: 2.6.0");
  parser.add_option("--timeout", options.timeout_seconds, "Seconds after which a run is ended").positive();
  parser
      .add_option("--files", options.files,
                  "private (default on virtual cards: what the job writes and removes is a layer of its own, gone "
                  "after it) or shared (your own files)")
      .one_of({"private", "shared"});
  parser.add_option("--keep-files", options.keep_files, "Copy what the private layer held to this new or empty folder");
  parser.add_flag("--network", options.network,
                  "Let a job on virtual cards use the network (off: nothing is sent, and W&B, hubs ... stay offline)");
  parser.add_option("--json", options.json, "Write the result to this file; - is stdout, and the job prints to stderr")
      .written_file();
  parser.add_flag("--verbose,-v", options.verbose, "Show everything, not only what decides");
}

namespace {

Result<std::optional<base::Bytes>> parse_size(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  auto size = base::parse_bytes(text);
  if (size) return *size;
  size.error().where = option;
  return std::unexpected(size.error());
}

// --context: a size, or from:FILE.
Result<void> read_context(const std::string& text, job::RunRequest& request) {
  constexpr std::string_view kFrom = "from:";
  if (text.starts_with(kFrom)) {
    auto held = app::read_measured_overhead(text.substr(kFrom.size()));
    if (!held) return std::unexpected(held.error());
    request.measured_overhead = std::move(*held);
    return {};
  }
  const auto context = parse_size(text, "--context");
  if (!context) return std::unexpected(context.error());
  request.context = *context;
  return {};
}

bool is_steps(const std::string& text) {
  if (text.empty() || text == "auto" || text == "all") return true;
  return !text.empty() && text.size() < 9 && text != "0" &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool is_free_folder(const std::string& path) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) return true;
  return std::filesystem::is_directory(status) && std::filesystem::is_empty(path, problem) && !problem;
}

}  // namespace

Result<job::FileOptions> build_file_options(const JobOptions& options, bool real) {
  job::FileOptions built;
  built.is_private = options.files != "shared";
  built.network = options.network;
  if (real && options.files == "private") {
    return base::fail(ErrorCode::kUsage, "a job on a real card works for real, and writes to your own files", "--files",
                      "a virtual card, or --files shared");
  }
  if (options.keep_files.empty()) return built;
  if (real || !built.is_private) {
    return base::fail(ErrorCode::kUsage, "there is no private layer to keep files of", "--keep-files",
                      real ? "on a real card the files are where the job wrote them" : "leave --files shared out");
  }
  if (!is_free_folder(options.keep_files)) {
    return base::fail(ErrorCode::kUsage, "the folder for the job's files must be new or empty", options.keep_files,
                      "--keep-files with another name");
  }
  std::error_code ignored;
  built.keep = std::filesystem::absolute(options.keep_files, ignored);
  return built;
}

Result<job::RunRequest> build_request(const JobOptions& options, const std::vector<std::string>& command,
                                      base::ProgressSink& progress) {
  job::RunRequest request;
  if (command.empty()) {
    return base::fail(ErrorCode::kUsage, "there is no command to run", "",
                      "put it behind --:  vramfit run --gpu \"GTX 1070\" -- python train.py --batch-size 8");
  }
  if (!is_steps(options.steps)) {
    return base::fail(ErrorCode::kUsage,
                      fmt::format("\"{}\" is not a number of steps{}", options.steps,
                                  base::did_you_mean(options.steps, {"auto", "all"})),
                      "--steps", "auto, all, or a number from 1 on");
  }
  const auto span = job::parse_span(options.within);
  if (!span) {
    return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is no time to run on", options.within), "--within",
                      "seconds, as 20 or 8-20; batches and steps, as 500n; or 0 for the short cut alone");
  }
  auto cards = app::choose_cards(options.gpus);
  if (!cards) return std::unexpected(cards.error());
  for (const std::string& note : cards->notes) progress.say(note);
  const auto occupied = parse_size(options.occupied, "--occupied");
  if (!occupied) return std::unexpected(occupied.error());
  if (auto known = read_context(options.context, request); !known) return std::unexpected(known.error());
  for (const job::CardChoice& choice : cards->cards) {
    if (!request.measured_overhead) break;
    if (auto same = app::check_card(*request.measured_overhead, choice.card); !same)
      return std::unexpected(same.error());
  }
  auto files = build_file_options(options, cards->real);
  if (!files) return std::unexpected(files.error());
  request.files = std::move(*files);
  request.steps = !options.steps.empty() ? options.steps : cards->real ? "all" : "auto";
  if (cards->real) {
    progress.say("on a real card the job works for real: it writes to your files and uses the network");
    if (request.steps != "all") {
      progress.say(fmt::format("--steps {} cuts it short: what it saves is of a shortened training", request.steps));
    }
  }
  request.cards = std::move(cards->cards);
  request.real = cards->real;
  request.command = command;
  request.span = *span;
  request.cudnn = options.cudnn;
  request.occupied = occupied->value_or(base::Bytes(0));
  if (auto order = job::parse_address_order(options.address_order)) {
    request.address_order = order;
    request.address_order_source = "--address-order " + options.address_order;
  }
  take_learned(options, request);
  request.values = options.values == "cpu"     ? job::Values::kCpu
                   : options.values == "zeros" ? job::Values::kZeros
                                               : job::Values::kAuto;
  request.retry.tracked_values = options.values == "tracked";
  if (!options.torch.empty()) request.torch = options.torch;
  if (options.timeout_seconds > 0) request.timeout_seconds = options.timeout_seconds;
  return request;
}

void take_learned(const JobOptions& options, job::RunRequest& request) {
  const auto file = job::find_learned_file(base::current_environment());
  if (options.no_learned || request.cards.empty() || !file) return;
  auto learned = job::find_learned(*file, request.cards.front().card.key);
  if (!learned) return;
  const std::string source =
      fmt::format("learned from {} on {}; --no-learned leaves it out", learned->recording, learned->date);
  if (learned->address_order && !request.address_order) {
    request.address_order = learned->address_order;
    request.address_order_source = source;
  }
  if (options.cudnn == "auto") request.workspaces = std::move(learned->workspaces);
  if (learned->measured_overhead && !request.measured_overhead && !request.context) {
    request.measured_overhead = std::move(learned->measured_overhead);
    request.measured_overhead->source += "; " + source;
  }
}

model::RunStart describe_start(std::string verb, const JobOptions& options, const std::vector<std::string>& command,
                               const std::string& plan) {
  model::RunStart start = history::describe_job(std::move(verb), command, VRAMFIT_VERSION);
  for (const std::string& gpu : options.gpus) start.card += (start.card.empty() ? "" : ",") + gpu;
  if (!plan.empty()) start.plan = base::read_file(plan).value_or("");
  return start;
}

Result<void> write_json(const std::string& file, const std::string& text) {
  if (file.empty()) return {};
  if (file == "-") {
    print(text);
    return {};
  }
  return base::write_file(file, text);
}

}  // namespace vramfit::cli
