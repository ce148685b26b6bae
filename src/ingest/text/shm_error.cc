#include "ingest/text/shm_error.h"

#include <array>
#include <string>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

using model::ShmError;
using model::ShmErrorKind;

// "</torch_77_1234_0>", "/dev/shm/nccl-x1"
std::string shm_path(std::string_view text) {
  for (const std::string_view begin : {"/dev/shm", "</torch_", "/torch_", "/psm_"}) {
    const std::size_t at = text.find(begin);
    if (at == std::string_view::npos) continue;
    const std::string_view path = text.substr(at + (begin[0] == '<' ? 1 : 0));
    return cut_text(path.substr(0, path.find_first_of("> ,'\":()")), 200);
  }
  return {};
}

std::optional<ShmErrorKind> kind_of(std::string_view text) {
  const bool path = text.contains("/dev/shm") || text.contains("/torch_") || text.contains("/psm_");
  if (contains_ignoring_case(text, "signal: bus error") || contains_ignoring_case(text, "unexpected bus error") ||
      contains_ignoring_case(text, "workers are out of shared") ||  // "memory" may stand on the next line
      contains_ignoring_case(text, "fatal python error: bus error")) {
    return ShmErrorKind::kBusError;
  }
  const std::string_view line = trim(text);
  if (line == "Bus error" || line.ends_with(": Bus error") || line.ends_with("Bus error (core dumped)") ||
      line.contains("Signals.SIGBUS"))
    return ShmErrorKind::kBusError;
  if (text.contains("creating shared memory segment")) return ShmErrorKind::kLibrary;
  if (text.contains("posix_fallocate failed") || (path && text.contains("No space left on device")))
    return ShmErrorKind::kNoSpace;
  if (!path && !text.contains("shared memory")) return std::nullopt;
  if (text.contains("unable to write to file") || text.contains("unable to resize file") ||
      text.contains("unable to allocate shared memory"))
    return ShmErrorKind::kNoSpace;
  if (text.contains("unable to open shared memory object") || text.contains("unable to mmap") ||
      text.contains("shm_open"))
    return ShmErrorKind::kUnavailable;
  if (contains_ignoring_case(text, "insufficient shared memory")) return ShmErrorKind::kBusError;
  return std::nullopt;
}

class ShmErrorReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    auto error = parse_shm_error(line.text);
    if (!error) return;
    error->at = sink.at(line);
    error->speaker = line.speaker;
    sink.add(sink.evidence().shm_errors, std::move(*error), "shared memory errors");
  }
};

constexpr std::array<std::string_view, 9> kShmErrorWords{"bus error",       "shared memory", "out of shared",
                                                         "/torch_",         "/dev/shm",      "sigbus",
                                                         "posix_fallocate", "shm_open",      "/psm_"};

}  // namespace

std::optional<ShmError> parse_shm_error(std::string_view text) {
  const std::string_view line = trim(text);
  if (line.starts_with("raise ") || line.starts_with("if ") || line.starts_with("Triton") ||
      text.contains("out of resource"))
    return std::nullopt;
  const auto kind = kind_of(text);
  if (!kind) return std::nullopt;
  ShmError error{.kind = *kind};
  error.pid = integer_after(text, "(pid ");
  error.path = shm_path(text);
  if (const auto size = integer_after(text, "(size "); size && *size >= 0)
    error.asked = model::exactly(model::held_within_limit(*size));
  return error;
}

const TextFormat kShmErrorFormat{"shm_error", kShmErrorWords,
                                 [] { return std::unique_ptr<TextReader>(new ShmErrorReader); }};

}  // namespace vramfit::ingest
