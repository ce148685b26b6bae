#include "ingest/oom_report.h"

#include "ingest/note_fields.h"

namespace vramfit::ingest {

using base::Bytes;
using nlohmann::json;

namespace {

template <class T>
T value_of(const json& fields, const char* name) {
  T value{};
  UnreadFields ignored;  // a report is read as far as it goes
  if (const auto found = fields.find(name); found != fields.end()) read(*found, value, ignored);
  return value;
}

}  // namespace

bool is_oom_report(std::string_view head) {
  return head.starts_with('{') && head.find("\"vramfit_report\"") != std::string_view::npos;
}

base::Result<model::RuntimeEvidence> read_oom_report(std::string_view text) {
  const json fields = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!fields.is_object() || value_of<std::int64_t>(fields, "vramfit_report") != 1) {
    return base::fail(base::ErrorCode::kCorrupt, "this is no whole report of VRAMFIT_ON_OOM", {},
                      "the other files of its folder can be read without it");
  }
  model::RuntimeEvidence evidence;
  model::OomState& oom = evidence.oom.emplace();
  oom.device = static_cast<int>(value_of<std::int64_t>(fields, "device"));
  oom.tried = value_of<Bytes>(fields, "tried");
  oom.allocated = value_of<Bytes>(fields, "allocated");
  oom.reserved = value_of<Bytes>(fields, "reserved");
  oom.holders = value_of<std::vector<model::TensorGroup>>(fields, "held");
  return evidence;
}

}  // namespace vramfit::ingest
