#include "app/doctor/case_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <span>
#include <string>

#include "base/file.h"
#include "ingest/oom_report.h"
#include "ingest/snapshot/reader.h"
#include "ingest/text/read_text.h"
#include "model/told.h"

namespace vramfit::app {

using base::Result;

namespace {

constexpr std::uintmax_t kSlow = 64 << 20;  // files from here on take more than a moment
constexpr std::size_t kHead = 512;          // bytes by which a snapshot is known

std::string head_of(const std::filesystem::path& path) {
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return head;
}

// A report.json of VRAMFIT_ON_OOM: who held what, by the script's own names.
Result<void> read_report(const std::filesystem::path& path, doctor::Case& into) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  auto evidence = ingest::read_oom_report(*text);
  if (!evidence) {
    evidence.error().where = path.string();
    return std::unexpected(evidence.error());
  }
  into.oom_report = std::move(*evidence);
  return {};
}

// The files of one report lie together (docs/on_oom.md): whoever gives one of them has what says who held what.
void read_report_beside(const std::filesystem::path& path, doctor::Case& into) {
  const std::filesystem::path beside = path.parent_path() / model::told::kOomReportFile;
  std::error_code problem;
  if (into.oom_report || !std::filesystem::is_regular_file(beside, problem)) return;
  if (ingest::is_oom_report(head_of(beside))) (void)read_report(beside, into);  // it was not asked for
}

Result<void> read_text(const std::filesystem::path& path, doctor::Case& into) {
  auto evidence =
      path == "-" ? ingest::read_text_evidence(std::cin, model::kStandardInput) : ingest::read_text_evidence(path);
  if (!evidence) return std::unexpected(evidence.error());
  ingest::merge_evidence(into.texts, std::move(*evidence));
  return {};
}

// Regular by what the system says of them, and read from they wait for the kernel's next word.
bool waits_for_kernel(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::path whole = std::filesystem::canonical(path, problem);
  const std::string name = whole.filename().string();
  return whole == "/proc/kmsg" || name == "trace_pipe" || name == "trace_pipe_raw";
}

// `vramfit doctor - < /dev/zero`
bool is_device_as_input() {
  struct stat found = {}, null = {};
  if (::fstat(STDIN_FILENO, &found) != 0 || !S_ISCHR(found.st_mode) || ::isatty(STDIN_FILENO) != 0) return false;
  return ::stat("/dev/null", &null) != 0 || found.st_rdev != null.st_rdev;
}

Result<void> read_case_file(const std::filesystem::path& path, doctor::Case& into) {
  if (path == "-" && is_device_as_input()) {
    return base::fail(base::ErrorCode::kUsage, "this is a device, not a text", "standard input", "name a file");
  }
  if (path != "-" && waits_for_kernel(path)) {
    return base::fail(base::ErrorCode::kUsage, "this is a special file that never ends, not a text", path.string(),
                      "`dmesg > FILE`, and that file");
  }
  std::error_code problem;
  const bool regular = path == "-" || std::filesystem::is_regular_file(path, problem);
  if (!regular || path == "-") return read_text(path, into);
  const std::string head = head_of(path);
  if (ingest::is_oom_report(head)) return read_report(path, into);
  read_report_beside(path, into);
  if (!ingest::sniff_snapshot(std::as_bytes(std::span(head)))) return read_text(path, into);
  auto snapshot = ingest::read_snapshot(path);
  if (!snapshot) {
    // What only looked like one, by its first bytes, may be a text, a packed one too.
    if (read_text(path, into)) return {};
    return std::unexpected(snapshot.error());
  }
  into.snapshots.push_back({path.string(), std::move(*snapshot), std::nullopt});
  return {};
}

// What the doctor is given of a report when the job itself asks it (python/vramfit/on_oom/report.py), and what else
// lies there, all of which is in these.
constexpr std::array<std::string_view, 4> kOfReport = {model::told::kOomReportFile, "traceback.txt", "snapshot.pickle",
                                                       "memory_summary.txt"};
constexpr std::array<std::string_view, 2> kOfReportToo = {"owners.txt", "diagnosis.txt"};

bool is_of_report(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const auto has_name = [&](std::string_view one) { return one == name; };
  if (std::ranges::none_of(kOfReport, has_name) && std::ranges::none_of(kOfReportToo, has_name)) return false;
  const std::filesystem::path report = path.parent_path() / model::told::kOomReportFile;
  std::error_code problem;
  return std::filesystem::is_regular_file(path, problem) && std::filesystem::is_regular_file(report, problem) &&
         ingest::is_oom_report(head_of(report));
}

// Any file of a report stands for the report: the same is said of it whichever is given, and as diagnosis.txt has it.
std::vector<std::filesystem::path> with_whole_reports(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> all;
  for (const std::filesystem::path& path : paths) {
    if (!is_of_report(path)) {
      all.push_back(path);
      continue;
    }
    for (const std::string_view name : kOfReport) {
      const std::filesystem::path each = path.parent_path() / name;
      std::error_code problem;
      if (std::filesystem::is_regular_file(each, problem) && std::ranges::find(all, each) == all.end()) {
        all.push_back(each);
      }
    }
  }
  return all;
}

}  // namespace

CaseFiles read_case_files(const std::vector<std::filesystem::path>& paths, base::ProgressSink& progress) {
  CaseFiles files;
  for (const std::filesystem::path& path : with_whole_reports(paths)) {
    std::error_code ignored;
    if (path != "-" && std::filesystem::file_size(path, ignored) > kSlow && !ignored) {
      progress.update("reading " + path.string());
    }
    if (const auto read = read_case_file(path, files.told)) {
      ++files.read;
    } else {
      files.told.unread.push_back(base::to_string(read.error()));
      if (!files.error) files.error = read.error();
    }
  }
  progress.clear();
  return files;
}

}  // namespace vramfit::app
