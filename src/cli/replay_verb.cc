// vramfit replay: a memory snapshot through PyTorch's allocator again, at other settings and on another card.
#include <memory>

#include "app/catalogue.h"
#include "app/replay/replay.h"
#include "cli/job_options.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "report/layout.h"
#include "report/replay_json.h"
#include "report/replay_text.h"

namespace vramfit::cli {

namespace {

struct Options {
  std::string file, gpu, capacity, torch, json;
  int device = -1;
  std::vector<std::string> settings;
  bool search = false, verbose = false;
};

base::Result<app::ReplayRequest> build_request(const Options& options) {
  app::ReplayRequest request;
  request.file = options.file;
  if (options.device >= 0) request.device = options.device;
  if (!options.torch.empty()) request.torch = options.torch;
  request.settings = options.settings;
  request.search = options.search;
  if (!options.capacity.empty()) {
    const auto bytes = base::parse_bytes(options.capacity);
    if (!bytes) return std::unexpected(bytes.error());
    request.capacity = *bytes;
  }
  if (!options.gpu.empty()) {
    const auto chosen = app::choose_cards({options.gpu});
    if (!chosen) return std::unexpected(chosen.error());
    if (chosen->real || chosen->cards.empty()) {
      return base::fail(base::ErrorCode::kUsage, "a replay needs a card of the catalogue", "--gpu " + options.gpu,
                        "vramfit gpus lists them");
    }
    request.card = chosen->cards.front();
  }
  return request;
}

// 0: what was asked for fits, for certain; with --search: something does.
int exit_code(const model::ReplayResult& result) {
  if (result.capacity && !result.is_certain()) return 1;
  if (result.asked) return result.asked->fits ? 0 : 1;
  if (!result.search.empty()) return result.search.front().fits ? 0 : 1;
  return result.own.fits ? 0 : 1;
}

base::Result<int> act(const Options& options) {
  const auto request = build_request(options);
  if (!request) return std::unexpected(request.error());
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  const auto result = app::replay(*request, progress);
  if (!result) return std::unexpected(result.error());
  const std::string json = report::replay_to_json(*result, VRAMFIT_VERSION);
  if (options.json == "-") {
    print(json);
    return exit_code(*result);
  }
  if (const auto written = write_json(options.json, json); !written) return std::unexpected(written.error());
  const std::string text = report::replay_to_text(*result, options.verbose);
  print_page(wants_color(1) ? report::paint_marks(text) : text);
  return exit_code(*result);
}

}  // namespace

Verb add_replay_verb(const Parser& parser) {
  auto options = std::make_shared<Options>();
  const Parser verb = parser.add_verb("replay", "Replay a memory snapshot at other allocator settings");
  verb.add_option("snapshot", options->file, "What torch.cuda.memory._dump_snapshot wrote").required();
  const Option gpu = verb.add_option("-g,--gpu", options->gpu, "On this card: \"GTX 1070\", rtx3090:20GiB")
                         .is_a(grammar::Value::kCard);
  verb.add_option("--capacity", options->capacity, "PyTorch may reserve this much: 7.2GiB").excludes(gpu);
  verb.add_option("--set", options->settings, "A setting of PYTORCH_CUDA_ALLOC_CONF: expandable_segments:True")
      .keeps_all();
  verb.add_flag("--search", options->search, "Try the whole grid of settings");
  verb.add_option("--device", options->device, "Which device of the snapshot");
  verb.add_option("--torch", options->torch, "Rules of this release: 2.6; else those that replay it best");
  verb.add_option("--json", options->json, "Write the result to this file; - is stdout").written_file();
  verb.add_flag("-v,--verbose", options->verbose, "Show all settings that were tried");
  verb.examples({"vramfit replay snapshot.pickle --gpu rtx3060", "vramfit replay snapshot.pickle --capacity 7.2GiB"});
  return {verb, [options](const Command&) {
            const auto code = act(*options);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
