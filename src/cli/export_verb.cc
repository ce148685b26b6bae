// vramfit export N|SNAPSHOT|RECORDING ... --to FORMAT -o FILE: for other programs to open.
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "views/export.h"

namespace vramfit::cli {

namespace {

struct ExportOptions {
  views::ExportRequest request;
  std::string format, output;
};

std::string where_to_open(views::ExportFormat format, const std::string& output) {
  switch (format) {
    case views::ExportFormat::kTrace:
      return "; open it at ui.perfetto.dev or chrome://tracing";
    case views::ExportFormat::kSpeedscope:
      return "; open it at speedscope.app";
    case views::ExportFormat::kTensorboard:
      return fmt::format("; tensorboard --logdir {}", output);
    default:
      return "";
  }
}

base::Result<void> act(ExportOptions options) {
  if (!options.format.empty()) {
    const auto format = views::parse_export_format(options.format);
    if (!format) return std::unexpected(format.error());
    options.request.format = *format;
  } else if (const auto guessed = views::guess_export_format(options.output)) {
    options.request.format = *guessed;
  } else {
    return base::fail(base::ErrorCode::kUsage, "which format?", "--to",
                      "perfetto, chrome, speedscope, tensorboard, csv, svg or png");
  }
  const bool is_stdout = options.output == "-";
  if (is_stdout && options.request.format == views::ExportFormat::kTensorboard) {
    return base::fail(base::ErrorCode::kUsage, "TensorBoard reads a folder", "-o -", "-o FOLDER");
  }
  options.request.output = options.output;
  options.request.version = VRAMFIT_VERSION;
  const auto exported = views::export_for_others(options.request);
  if (!exported) return std::unexpected(exported.error());
  for (const std::string& damage : exported->damage) talk(fmt::format("vramfit: warning: {}\n", damage));
  if (is_stdout) {
    print(exported->text);
    return {};
  }
  if (exported->files.empty()) {
    if (auto written = base::write_file(options.output, exported->text); !written) {
      return std::unexpected(written.error());
    }
  }
  talk(fmt::format("{} written{}\n", options.output, where_to_open(options.request.format, options.output)));
  return {};
}

}  // namespace

Verb add_export_verb(const Parser& parser) {
  auto options = std::make_shared<ExportOptions>();
  const Parser verb = parser.add_verb(
      "export", "Write runs, memory snapshots or recordings of watch for Perfetto, speedscope, TensorBoard, as charts");
  verb.add_option("what", options->request.what, "Numbers of runs; files of snapshots and of vramfit watch --record")
      .required()
      .takes(1, 1000)
      .is_a(grammar::Value::kRunOrFile);
  verb.add_option("--to", options->format,
                  "perfetto (or chrome), speedscope, tensorboard, csv, svg, png; else by the name of the output")
      .suggests(views::export_formats());
  verb.add_option("-o,--output", options->output, "The file (tensorboard: the folder); - is stdout").required();
  verb.add_option("--points", options->request.most_points, "Most points of a curve (100000)").between(4, 100'000'000);
  verb.examples({"vramfit export 12 --to perfetto -o run.json", "vramfit export 12 14 -o runs.svg"});
  return {verb, [options](const Command&) {
            const auto done = act(*options);
            return done ? 0 : report_error(done.error());
          }};
}

}  // namespace vramfit::cli
