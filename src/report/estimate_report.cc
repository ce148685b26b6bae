#include "report/estimate_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_parts.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

std::string headline(const EstimateView& view) {
  const std::string_view says = view.verdict == "probably_fits"       ? "[~] probably fits"
                                : view.verdict == "probably_runs_out" ? "[~] probably runs out on"
                                                                      : "[~] too near to tell on";
  return wrap(fmt::format("{} {} ({}): about {} at the peak, between {} and {}. An estimate, no run", says, view.card,
                          to_string(view.card_memory), to_string(view.peak), to_string(view.low), to_string(view.high)),
              kPageWidth, 4) +
         "\n";
}

}  // namespace

std::string estimate_to_text(const EstimateView& view) {
  std::string text = headline(view);
  text += "\n" +
          wrap(fmt::format("{}, {}: {:.1f} M numbers{}. It is fullest {}:", view.network, view.task,
                           static_cast<double>(view.parameters) / 1e6,
                           view.trained > 0 && view.trained != view.parameters
                               ? fmt::format(", of which {:.1f} M are trained", static_cast<double>(view.trained) / 1e6)
                               : "",
                           view.fullest_stage),
               kPageWidth, 0) +
          "\n";
  std::vector<std::vector<std::string>> rows;
  for (const EstimateView::Part& part : view.parts) rows.push_back({to_string(part.bytes), part.what, part.how});
  rows.push_back({to_string(view.reserved - view.tensors), "allocator", "what it reserves beside tensors"});
  rows.push_back({to_string(view.outside), "context, libraries", "as `vramfit gpus` tells them"});
  text += table({{Align::kRight, 12}, {Align::kLeft, 24}, {Align::kLeft, 40}}, rows);
  text += view.largest_batch ? fmt::format("\nThe largest batch that probably fits: {}\n", *view.largest_batch)
                             : "\nNot even a batch of 1 probably fits\n";
  if (!view.unknown_kind.empty()) {
    text +=
        "\n" +
        wrap(fmt::format("The model_type \"{}\" is not known here: taken for a decoder with a gated MLP and fused "
                         "attention, as its fields tell. It may be built otherwise, and take more: only a run tells",
                         view.unknown_kind),
             kPageWidth, 0) +
        "\n";
  }
  if (!view.not_counted.empty()) {
    text += "\n" +
            wrap(fmt::format("Not counted: {}. This is the part for text alone", fmt::join(view.not_counted, ", ")),
                 kPageWidth, 0) +
            "\n";
  }
  if (!view.notes.empty()) text += "\n";
  for (const std::string& note : view.notes) text += wrap(note, kPageWidth, 0) + "\n";
  text += "\nTo prove it by a run of a script to start from:\n";
  for (const std::string& command : view.proof) text += fmt::format("  {}\n", command);
  const std::string packages = fmt::format("{}", fmt::join(view.packages, " "));
  return text +
         wrap(fmt::format("The script imports {}. A python without: pip install {}. No python with torch of your "
                          "own: vramfit env add {}",
                          fmt::join(view.packages, " and "), packages, packages),
              kPageWidth, 0) +
         "\n";
}

std::string estimate_to_json(const EstimateView& view, std::string_view version) {
  const auto part_json = [](const EstimateView::Part& part) {
    return ordered_json{{"what", part.what}, {"bytes", part.bytes.count()}, {"how", part.how}};
  };
  return base::json_file(ordered_json{
      {"schema", kEstimateSchema},
      {"vramfit", version},
      {"is_estimate", true},
      {"verdict", view.verdict},
      {"network", view.network},
      {"task", view.task},
      {"precision", view.numbers},
      {"optimizer", or_null(view.optimizer)},
      {"batch", view.batch},
      {"sequence", view.sequence > 0 ? ordered_json(view.sequence) : ordered_json(nullptr)},
      {"size", view.size > 0 ? ordered_json(view.size) : ordered_json(nullptr)},
      {"parameters", view.parameters},
      {"trained_parameters", view.trained},
      {"card", {{"key", view.card_key}, {"name", view.card}, {"memory_bytes", view.card_memory.count()}}},
      {"fullest", view.fullest_stage},
      {"parts", list_json(view.parts, part_json)},
      {"tensor_bytes", view.tensors.count()},
      {"reserved_bytes", view.reserved.count()},
      {"context_and_libraries_bytes", view.outside.count()},
      {"peak_bytes", view.peak.count()},
      {"low_bytes", view.low.count()},
      {"high_bytes", view.high.count()},
      {"largest_batch", or_null(view.largest_batch)},
      {"unknown_model_type", view.unknown_kind.empty() ? ordered_json(nullptr) : ordered_json(view.unknown_kind)},
      {"not_counted", view.not_counted},
      {"notes", view.notes},
      {"proof", view.proof},
      {"packages", view.packages}});
}

}  // namespace vramfit::report
