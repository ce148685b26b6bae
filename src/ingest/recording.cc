#include "ingest/recording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/parse_number.h"
#include "ingest/note_fields.h"
#include "model/data_loss.h"
#include "model/number_text.h"

namespace vramfit::ingest {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using model::LossKind;
using model::Recording;
using model::UnreadInput;

namespace {

constexpr std::uint8_t kLastKind = VF_RECORD_WORKSPACE;
constexpr std::size_t kMostLetters = 120;  // letters of what was not understood; the count is of all

void count_unread(std::map<std::string, UnreadInput>& unread, LossKind kind, std::int64_t times = 1,
                  std::string first = "") {
  const model::LossDescription& loss = model::describe(kind);
  UnreadInput& entry = unread[std::string(loss.key)];
  entry.weight = loss.weight;
  entry.count += times;
  if (entry.first.empty()) {
    entry.first = std::move(first);
  } else if (!first.empty() && entry.first.size() < kMostLetters && !entry.first.contains(first)) {
    entry.first += ", " + first;
  }
}

// The file grows in steps, so it ends in zero records: the recording is what lies before them.
std::span<const vf_record> without_unused_tail(std::span<const vf_record> records) {
  std::size_t used = records.size();
  while (used > 0 && records[used - 1].kind == 0) --used;
  return records.first(used);
}

// What is given back has a negative size in these.
bool may_shrink(std::uint8_t kind) { return kind == VF_RECORD_PIN || kind == VF_RECORD_LIBRARY; }

std::optional<LossKind> find_fault(const vf_record& record) {
  if (record.kind == 0) return LossKind::kRecordUnfinished;
  if (record.kind > kLastKind) return LossKind::kRecordKindUnknown;
  if (record.phase >= model::kPhaseCount) return LossKind::kRecordPhaseUnknown;
  if (record.stage >= model::kStageCount) return LossKind::kRecordStageUnknown;
  if (record.size < 0 && !may_shrink(record.kind)) return LossKind::kRecordSizeImpossible;
  if (record.kind == VF_RECORD_TAG && !model::is_owner(record.a)) return LossKind::kRecordOwnerUnknown;
  return std::nullopt;
}

void count_unreadable_records(Recording& recording) {
  for (const vf_record& record : recording.records) {
    if (const auto fault = find_fault(record)) count_unread(recording.unread, *fault);
  }
}

// Texts are written before the events that name them.
void count_missing_texts(Recording& recording) {
  const std::size_t known = recording.strings.size();  // their numbers count from 1
  for (const vf_record& record : recording.records) {
    if (record.kind == 0 || record.kind > kLastKind) continue;
    if (std::max({record.scope, record.line, record.text}) > known)
      count_unread(recording.unread, LossKind::kRecordTextUnknown);
  }
}

// Calls `use` with each line; the last one counts even without its line break.
template <class Use>
void for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string unescape(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      ++i;
      text += line[i] == 'n' ? '\n' : line[i];
    } else {
      text += line[i];
    }
  }
  return text;
}

// "recording.123.vfr" -> 123
std::optional<int> pid_in_name(const std::string& name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size())
    return std::nullopt;
  const std::string_view number =
      std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size());
  return base::parse_number<int>(number);
}

Result<Recording> read_process(const fs::path& folder, int pid) {
  Recording recording;
  const fs::path records = folder / fmt::format("recording.{}.vfr", pid);
  if (fs::exists(records)) {
    const auto file = base::MappedFile::open(records);
    if (!file) return std::unexpected(file.error());
    auto parsed = parse_recording((*file)->bytes(), *file, records.filename().string());
    if (parsed) {
      recording = std::move(*parsed);
    } else {
      count_unread(recording.unread, LossKind::kRecordingUnreadable);
    }
  }
  recording.pid = pid;
  if (const auto text = base::read_file(folder / fmt::format("strings.{}.txt", pid)))
    recording.strings = parse_strings(*text);
  count_missing_texts(recording);
  if (const auto text = base::read_file(folder / fmt::format("notes.{}.jsonl", pid)))
    recording.notes = parse_notes(*text, recording.unread);
  return recording;
}

}  // namespace

bool sniff_recording(std::span<const std::byte> bytes) {
  std::uint64_t magic = 0;
  if (bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  return magic == VF_RECORDING_MAGIC;
}

Result<Recording> parse_recording(std::span<const std::byte> bytes, std::shared_ptr<const void> storage,
                                  std::string_view name) {
  vf_recording_header header{};
  if (bytes.size() < sizeof header || !sniff_recording(bytes)) {
    return base::fail(ErrorCode::kCorrupt, "not a recording of vramfit", std::string(name));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.record_bytes != sizeof(vf_record)) {
    return base::fail(ErrorCode::kUnsupported,
                      fmt::format("records of {} bytes, not {}", header.record_bytes, sizeof(vf_record)),
                      std::string(name), "the recorder and the command line must come from the same vramfit");
  }
  static_assert(sizeof(vf_recording_header) % alignof(vf_record) == 0);
  const std::size_t records = (bytes.size() - sizeof header) / sizeof(vf_record);
  const auto* first = reinterpret_cast<const vf_record*>(bytes.data() + sizeof header);
  Recording recording;
  recording.pid = header.pid;
  recording.started_at_ns = header.started_at_ns;
  recording.records = without_unused_tail({first, records});
  recording.storage = std::move(storage);
  if ((bytes.size() - sizeof header) % sizeof(vf_record) != 0) {
    count_unread(recording.unread, LossKind::kRecordingCut);
  }
  count_unreadable_records(recording);
  return recording;
}

std::vector<std::string> parse_strings(std::string_view text) {
  std::vector<std::string> strings;
  for_each_line(text, [&](std::string_view line) { strings.push_back(unescape(line)); });
  return strings;
}

model::Notes parse_notes(std::string_view text, std::map<std::string, UnreadInput>& unread) {
  model::Notes notes;
  for_each_line(text, [&](std::string_view line) {
    if (line.empty()) return;
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return count_unread(unread, LossKind::kNoteUnreadable);
    const auto named = object.find("kind");
    if (named == object.end() || !named->is_string()) return count_unread(unread, LossKind::kNoteWithoutKind);
    const auto& kind = named->get_ref<const std::string&>();
    UnreadFields fields;
    if (!read_note(kind, object, notes, fields)) return count_unread(unread, LossKind::kNoteKindUnknown, 1, kind);
    if (fields.count == 0) return;
    const std::string named_fields = fmt::format("{}", fmt::join(fields.names, ", " + kind + "."));
    count_unread(unread, LossKind::kNoteFieldUnreadable, fields.count, kind + "." + named_fields);
  });
  return notes;
}

Result<std::vector<Recording>> read_run_folder(const fs::path& folder) {
  std::set<int> pids;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string name = entry.path().filename().string();
    if (const auto pid = pid_in_name(name, "recording.", ".vfr")) pids.insert(*pid);
    if (const auto pid = pid_in_name(name, "notes.", ".jsonl")) pids.insert(*pid);
  }
  if (problem)
    return base::fail(ErrorCode::kSystem, "cannot list the run folder: " + problem.message(), folder.string());
  std::vector<Recording> recordings;
  for (const int pid : pids) {
    auto recording = read_process(folder, pid);
    if (!recording) return std::unexpected(recording.error());
    recordings.push_back(std::move(*recording));
  }
  return recordings;
}

}  // namespace vramfit::ingest
