#include "ingest/text/oom_message.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ingest/text/cursor.h"
#include "ingest/text/line_text.h"
#include "model/run_result.h"

namespace vramfit::ingest {
namespace {

using model::OomForm;
using model::OomMessage;

// How much of a message is known: grows when a further line belongs to it.
int known_clauses(const OomMessage& message) {
  return message.tried.has_value() + message.total.has_value() + message.free.has_value() +
         message.allocated.has_value() + message.reserved.has_value() + message.cached.has_value() +
         message.unallocated.has_value() + message.private_pools.has_value() + message.allowed.has_value() +
         message.this_process.has_value() + static_cast<int>(message.processes.size()) +
         static_cast<int>(message.hints.size()) + (message.hint_variable.empty() ? 0 : 1) +
         (message.form == OomForm::kPartial ? 0 : 1);
}

bool same_numbers(const OomMessage& left, const OomMessage& right) {
  OomMessage other = right;
  other.at = left.at;
  other.exception = left.exception;
  other.repeated = left.repeated;
  other.hints = left.hints;
  other.hint_variable = left.hint_variable;
  return left == other;
}

// What frames a paste: the sides of a box (rich), or a table's bars.
std::string_view unboxed(std::string_view text) {
  text = trim(text);
  for (const std::string_view side : {"│", "┃", "|", "║"}) {
    if (text.starts_with(side)) text.remove_prefix(side.size());
    if (text.ends_with(side)) text.remove_suffix(side.size());
    text = trim(text);
  }
  return text;
}

class OomMessageReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override;
  bool wants_more() const override { return !open_.empty(); }
  void finish(EvidenceSink& sink) override;

 private:
  struct Open {
    model::SourceLine at;
    model::Speaker speaker;
    std::string stream, text, tail;
    std::vector<OomMessage> messages;  // of `text`
    int dry = 0;                       // lines in `tail`, which told nothing so far
  };
  static constexpr int kMostDryLines = 3;
  static constexpr std::size_t kLongestText = 16 << 10;
  static constexpr std::size_t kMostOpen = 64;

  void close(Open& open, EvidenceSink& sink);
  bool continues(Open& open, const LogLine& line);
  std::optional<Open> begin(const LogLine& line, EvidenceSink& sink);

  std::vector<Open> open_;
};

void OomMessageReader::close(Open& open, EvidenceSink& sink) {
  for (OomMessage& message : open.messages) {
    message.at = open.at;
    message.speaker = open.speaker;
    message.arithmetic = oom_arithmetic(message);
    auto& all = sink.evidence().ooms;
    if (!all.empty() && all.back().at.file == message.at.file && same_numbers(all.back(), message)) {
      ++all.back().repeated;
      if (all.back().exception.empty()) all.back().exception = message.exception;
    } else {
      sink.add(all, std::move(message), "out-of-memory messages");
    }
  }
}

// A line belongs to the open message when it tells more of it.
bool OomMessageReader::continues(Open& open, const LogLine& line) {
  const std::string_view text = unboxed(line.text);
  if (text.empty() || text.starts_with("File \"") || text.starts_with("Traceback") || open.text.size() > kLongestText)
    return false;
  // A message of its own, unless it is what "CUDA out of memory." at the end of the last line waits for.
  const std::vector<OomMessage> own = parse_oom_messages(text);
  const bool waits = open.messages.back().form == OomForm::kPartial && !open.messages.back().tried;
  const bool headless = !own.empty() && own[0].form != OomForm::kNumberless && own[0].form != OomForm::kRuntimeError2 &&
                        own[0].form != OomForm::kMallocAsync && !own[0].tried &&
                        (own[0].total || own[0].free || own[0].allocated || own[0].reserved || own[0].unallocated);
  if (!own.empty() && !headless && !waits) return false;
  std::string joined = open.text + open.tail + " " + std::string(text);
  std::vector<OomMessage> messages = parse_oom_messages(joined);
  if (messages.size() != open.messages.size() || messages.empty()) return false;
  if (known_clauses(messages.back()) > known_clauses(open.messages.back())) {
    open.text = std::move(joined);
    open.tail.clear();
    open.messages = std::move(messages);
    open.dry = 0;
    return true;
  }
  open.tail += " " + std::string(text);
  return ++open.dry < kMostDryLines;
}

std::optional<OomMessageReader::Open> OomMessageReader::begin(const LogLine& line, EvidenceSink& sink) {
  std::string text(unboxed(line.text));
  std::vector<OomMessage> messages = parse_oom_messages(text);
  // "Tried to allocate" may stand on the lines before, wrapped in the middle of the words that would have told.
  if (!messages.empty() && !messages.front().tried && messages.front().total) {
    std::string earlier;
    for (Cursor cursor(line.before); !cursor.at_end();) {
      earlier += std::string(unboxed(clean_line(cursor.take_until("\n")).text)) + " ";
    }
    std::vector<OomMessage> longer = parse_oom_messages(earlier + text);
    if (longer.size() == messages.size() && longer.front().tried) {
      messages = std::move(longer);
      text = earlier + text;
    }
  }
  if (messages.empty()) return std::nullopt;
  return Open{sink.at(line), line.speaker, std::string(line.stream), std::move(text), {}, std::move(messages), 0};
}

void OomMessageReader::read(const LogLine& line, EvidenceSink& sink) {
  const auto open =
      std::find_if(open_.begin(), open_.end(), [&](const Open& one) { return one.stream == line.stream; });
  if (open != open_.end()) {
    if (continues(*open, line)) return;
    close(*open, sink);
    open_.erase(open);
  }
  if (!line.has_words) return;  // another stream's message is open
  auto begun = begin(line, sink);
  if (!begun) return;
  if (open_.size() >= kMostOpen) {
    close(open_.front(), sink);
    open_.erase(open_.begin());
  }
  open_.push_back(std::move(*begun));
}

void OomMessageReader::finish(EvidenceSink& sink) {
  for (Open& open : open_) close(open, sink);
  open_.clear();
}

constexpr std::array<std::string_view, 9> kOomMessageWords{
    "out of memory",   "tried to allocate",    "total capac",           "already allocated", "reserved in total",
    "but unallocated", "allocation on device", "can't allocate memory", "not enough memory"};

}  // namespace

const TextFormat kOomMessageFormat{"oom_message", kOomMessageWords,
                                   [] { return std::unique_ptr<TextReader>(new OomMessageReader); }};

model::OomMessage message_of_run(const model::Oom& oom, const std::optional<model::OomState>& recorded) {
  std::vector<OomMessage> own = parse_oom_messages(oom.message);
  OomMessage message = own.empty() ? OomMessage{.device = model::OomDevice::kCuda} : std::move(own.front());
  message.at = {"the run", 1, std::string(oom.message.substr(0, oom.message.find('\n')))};
  if (message.exception.empty()) message.exception = "torch.OutOfMemoryError";
  if (recorded) {
    const auto take = [](std::optional<model::PrintedBytes>& into, base::Bytes counted) {
      if (!into) into = model::exactly(counted);
    };
    take(message.tried, recorded->tried);
    take(message.allocated, recorded->allocated);
    if (!message.cached && !message.unallocated) take(message.reserved, recorded->reserved);
    if (!message.gpu) message.gpu = recorded->device;
  }
  message.arithmetic = oom_arithmetic(message);
  return message;
}

}  // namespace vramfit::ingest
