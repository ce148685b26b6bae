#include "ingest/oom_report.h"

#include <fmt/format.h>

#include <utility>

#include "ingest/told_json.h"
#include "model/told.h"

namespace vramfit::ingest {

namespace told = model::told;

bool is_oom_report(std::string_view head) {
  return head.starts_with('{') && head.find(fmt::format("\"{}\"", told::kOomReportMark)) != std::string_view::npos;
}

base::Result<model::RuntimeEvidence> read_oom_report(std::string_view text) {
  const json fields = json::parse(text, nullptr, /*allow_exceptions=*/false);
  told::OomReport report;
  UnreadFields ignored;  // it is read as far as it goes
  if (!read(fields, report, ignored) || report.vramfit_report != 1) {
    return base::fail(base::ErrorCode::kCorrupt, "this is no whole report of VRAMFIT_ON_OOM", {},
                      "the other files of its folder can be read without it");
  }
  model::RuntimeEvidence evidence;
  model::OomState& oom = evidence.oom.emplace();
  oom.device = static_cast<int>(report.device);
  oom.tried = report.tried;
  oom.allocated = report.allocated;
  oom.reserved = report.reserved;
  oom.holders = std::move(report.held);
  return evidence;
}

}  // namespace vramfit::ingest
