#include "ingest/text/read_text.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "base/file.h"
#include "ingest/pickle/source.h"
#include "ingest/snapshot/inflate.h"
#include "ingest/text/cursor.h"
#include "ingest/text/facts.h"
#include "ingest/text/line_text.h"
#include "ingest/text/log_prefix.h"
#include "ingest/text/memory_trouble.h"
#include "ingest/text/program_text.h"
#include "ingest/text/registry.h"
#include "ingest/text/settings_text.h"
#include "ingest/text/text_input.h"
#include "ingest/text/text_looks.h"
#include "ingest/text/text_sample.h"
#include "ingest/text/trigger_words.h"
#include "model/evidence_lists.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kBefore = 2000;                            // bytes before a line that its reader may look back to
constexpr std::uint64_t kMostUnpacked = std::uint64_t{2} << 30;  // bytes of a packed file that are read
// Logs pack to a tenth or a fiftieth. What is this many times larger than its file says one thing over and over, and of
// that so much is read.
constexpr std::uint64_t kMostTimesPacked = 100;
constexpr std::uint64_t kReadOfRepetition = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostStreamed = std::uint64_t{256} << 20;  // bytes of a stream that may have no end
constexpr std::uint64_t kMostOfLine = std::uint64_t{64} << 20;     // of one line of such a stream
constexpr std::chrono::seconds kLongestOfLine{20};                 // in which such a line grows
constexpr std::size_t kAcross = 200;         // bytes on each side of a joint that are looked at together
constexpr std::size_t kFewLines = 64;        // different ones in a block, which repeats them then
constexpr std::size_t kLongestPrefix = 300;  // of a line, in which a prefix is looked for

// The first line's end at `from` or behind it; the text's size if there is none. Eight letters at a time: a byte below
// 14 leaves its high bit, and the lowest that does is one.
std::size_t find_line_end(std::string_view text, std::size_t from) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  static_assert(std::endian::native == std::endian::little);
  std::size_t at = from;
  while (at + sizeof(std::uint64_t) <= text.size()) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, sizeof eight);
    const std::uint64_t low = (eight - kOnes * ('\r' + 1)) & ~eight & kHigh;
    at += low == 0 ? sizeof eight : static_cast<std::size_t>(std::countr_zero(low)) / 8;
    if (low == 0) continue;
    if (is_line_end(text[at])) return at;
    ++at;
  }
  while (at < text.size() && !is_line_end(text[at])) ++at;
  return at;
}

// The beginning of the line that `at` is in: behind the last line's end from `from` on, or at `from`.
std::size_t find_line_begin(std::string_view text, std::size_t from, std::size_t at) {
  const auto behind_last = [&](char letter, std::size_t begin) {
    const void* const last = ::memrchr(text.data() + begin, letter, at - begin);
    return last == nullptr ? begin : static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
  };
  return behind_last('\r', behind_last('\n', from));
}

// Calls `take` for the lines of a block of whole lines, until it says no. Whether it never did.
bool all_lines(std::string_view block, auto take) {
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\n', at), block.size() - 1);
    if (!take(block.substr(at, end + 1 - at))) return false;
    at = end + 1;
  }
  return true;
}

std::int64_t count_lines(std::string_view text) {
  std::int64_t count = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++count;
  return count;
}

// Drives the readers over the blocks of one file.
class TextPass {
 public:
  TextPass(std::string_view name, const TextLimits& limits, std::span<const TextFormat* const> formats)
      : limits_(limits), sink_(std::string(name), limits_, evidence_) {
    evidence_.files.push_back({.name = std::string(name)});
    for (const TextFormat* format : formats) {
      const std::uint32_t bit = std::uint32_t{1} << readers_.size();
      readers_.push_back(format->make());
      ask(readers_.size() - 1);
      for (const std::string_view word : format->words) words_.add(word, bit);
    }
  }

  void feed(std::string_view bytes) {
    evidence_.files.back().bytes += static_cast<std::int64_t>(bytes.size());
    input_.feed(bytes);
  }
  // From here on nothing is fed.
  void leave_unread(const std::string& what) {
    evidence_.files.back().complete = false;
    ++evidence_.unread[what];
  }
  model::Evidence finish();

 private:
  void take_block(std::string_view block);
  void take_held();
  void read_block(std::string_view block);
  void scan_block(std::string_view block);
  void take_segment(std::string_view block, std::size_t begin, std::size_t end);
  void take_piece(std::string_view block, std::size_t begin, std::size_t end);
  void look_at_joint(std::string_view before, std::string_view behind);
  void take_line(std::string_view raw, std::string_view before);
  void ask(std::size_t reader);

  TextLimits limits_;
  model::Evidence evidence_;
  EvidenceSink sink_;
  TriggerWords words_;
  std::vector<std::unique_ptr<TextReader>> readers_;
  std::uint32_t wanting_ = 0;  // those that want all lines; it can change only when they are given one
  TextInput input_{limits_.longest_line, [this](std::string_view block) { take_block(block); }};
  std::string carried_;                          // the end of the last block
  std::string held_;                             // the last block that was passed over
  std::set<std::string, std::less<>> repeated_;  // the lines of the last block that was read, where they are few
  std::size_t of_line_ = 0;                      // bytes read since the last line's end
  std::int64_t left_out_ = 0;                    // pieces of lines that were not read
  std::int64_t line_ = 1;                        // number of the line that begins at the next unread byte
  std::int64_t cut_lines_ = 0;
  bool latin1_ = false;
  LooksOfText looks_;
  ProgramText program_;
  TextSample sample_;
};

void TextPass::ask(std::size_t reader) {
  const std::uint32_t bit = std::uint32_t{1} << reader;
  wanting_ = readers_[reader]->wants_more() ? wanting_ | bit : wanting_ & ~bit;
}

//   ... line \n | progress \r progress \r RuntimeError: ... \n | line ...
//                                         ^ hit: its segment is from the last \r or \n to the next
void TextPass::take_block(std::string_view block) {
  const std::size_t line_end = block.find_last_of("\r\n");
  if (line_end == std::string_view::npos && of_line_ >= limits_.most_of_line) {
    left_out_ += held_.empty() ? 0 : 1;
    held_ = block;
    return;
  }
  // What only repeats the lines before it, letter by letter, says nothing new: the last of it is read, for the lines
  // behind it to stand where they stood.
  const bool only_repeats = !repeated_.empty() && line_end + 1 == block.size() && of_line_ == 0 &&
                            all_lines(block, [&](std::string_view line) { return repeated_.contains(line); });
  if (only_repeats) {
    line_ += count_lines(held_);
    held_ = block;
    return;
  }
  take_held();
  read_block(block);
  repeated_.clear();
  const bool has_few = all_lines(block, [&](std::string_view line) {
    if (!repeated_.contains(line)) repeated_.emplace(line);
    return repeated_.size() <= kFewLines;
  });
  if (!has_few || count_lines(block) < static_cast<std::int64_t>(kFewLines * kFewLines)) repeated_.clear();
  of_line_ = line_end == std::string_view::npos ? of_line_ + block.size() : block.size() - line_end - 1;
}

// How a text or a line ends may be all that matters of it, however much was passed over before.
void TextPass::take_held() {
  if (!held_.empty()) read_block(std::exchange(held_, {}));
}

void TextPass::read_block(std::string_view block) {
  if (!carried_.empty() && !is_line_end(carried_.back()) && !block.empty()) look_at_joint(carried_, block);
  looks_.add(block);
  program_.add(block);
  sample_.add(block);
  scan_block(block);
  carried_ += block.substr(block.size() - std::min(block.size(), kBefore));
  carried_.erase(0, carried_.size() - std::min(carried_.size(), kBefore));
}

void TextPass::scan_block(std::string_view block) {
  std::size_t at = 0;
  while (at < block.size()) {
    std::size_t begin = at;
    if (wanting_ == 0) {
      const TriggerWords::Hit hit = words_.find(block, at);
      const std::size_t found = hit.owners == 0 ? block.size() : hit.begin;
      begin = find_line_begin(block, at, found);
      line_ += count_lines(block.substr(at, begin - at));
      if (hit.owners == 0) return;
    }
    std::size_t end = find_line_end(block, begin);
    take_segment(block, begin, end);
    if (end + 1 < block.size() && block[end] == '\r' && block[end + 1] == '\n') ++end;
    if (end < block.size() && block[end] == '\n') ++line_;
    at = end + 1;
  }
}

void TextPass::take_segment(std::string_view block, std::size_t begin, std::size_t end) {
  while (end - begin > limits_.longest_line) {
    const std::size_t joint = begin + find_joint(block.substr(begin, end - begin), limits_.longest_line);
    take_piece(block, begin, joint);
    look_at_joint(block.substr(begin, joint - begin), block.substr(joint, end - joint));
    ++cut_lines_;
    begin = joint;
  }
  take_piece(block, begin, end);
}

void TextPass::take_piece(std::string_view block, std::size_t begin, std::size_t end) {
  const std::string_view raw = block.substr(begin, end - begin);
  const std::string joined = begin < kBefore ? carried_ + std::string(block.substr(0, begin)) : std::string();
  std::string_view before = begin < kBefore ? std::string_view(joined) : block.substr(0, begin);
  before.remove_prefix(before.size() - std::min(before.size(), kBefore));
  if (!raw.contains('\\')) return take_line(raw, before);
  for (const std::string& part : unpack_line(raw)) take_line(part, before);
}

// A line that is read in pieces: what stands across the joint of two is in neither, and must not go unseen.
void TextPass::look_at_joint(std::string_view before, std::string_view behind) {
  std::string across(before.substr(before.size() - std::min(before.size(), kAcross)));
  across += behind.substr(0, kAcross);
  const std::string clean = clean_line(across).text;
  const auto words = find_memory_trouble(clean);
  if (!words) return;
  sink_.add(evidence_.memory_words, {evidence_.files.back().name, line_, clean}, "words of trouble with memory");
}

void TextPass::take_line(std::string_view raw, std::string_view before) {
  const LineText clean = clean_line(raw);
  latin1_ |= clean.latin1;
  const std::uint32_t owners = words_.owners_in(clean.text), wanted = owners | wanting_;
  if (wanted == 0) return;
  const std::string_view whole = clean.text;
  const LogPrefix prefix = parse_log_prefix(whole.substr(0, kLongestPrefix));
  std::string stream;
  if (prefix.speaker.rank) stream += std::to_string(*prefix.speaker.rank);
  if (!prefix.speaker.process.empty()) stream += "/" + prefix.speaker.process;
  LogLine line{whole, whole.substr(std::min(prefix.length, whole.size())), line_, prefix.speaker, before, stream};
  for (std::uint32_t bits = wanted; bits != 0; bits &= bits - 1) {
    const auto reader = static_cast<std::size_t>(std::countr_zero(bits));
    line.has_words = (owners >> reader & 1u) != 0;
    readers_[reader]->read(line, sink_);
    ask(reader);
  }
}

// Readers that wait for the end of something hand it over late.
template <class Entry>
void sort_by_line(std::vector<Entry>& entries) {
  std::ranges::stable_sort(entries, {}, [](const Entry& entry) { return entry.at.line; });
}

// Comments of a program and its texts for users tell of nobody's failure.
void forget_what_was_told(model::Evidence& evidence) {
  evidence.told.clear();
  std::erase_if(evidence.remarks, [](const model::Remarkable& remark) { return model::is_told(remark.kind); });
  model::TextFile& file = evidence.files.back();
  file.has_prose = false;
  file.not_understood.reset();
  file.not_understood_of_writer.reset();
}

model::Evidence TextPass::finish() {
  input_.finish();
  take_held();
  if (left_out_ > 0) {
    evidence_.files.back().complete = false;
    evidence_.unread["pieces from the middle of lines that are longer than 4 MiB"] += left_out_;
  }
  for (const auto& reader : readers_) reader->finish(sink_);
  sort_by_line(evidence_.ooms);
  sort_by_line(evidence_.tracebacks);
  sort_by_line(evidence_.launch_failures);
  sort_by_line(evidence_.summaries);
  sort_by_line(evidence_.gpu_status);
  sort_by_line(evidence_.foreign);
  model::TextFile& file = evidence_.files.back();
  file.lines = line_;
  file.encoding = input_.encoding() == TextEncoding::kUtf16Little ? "utf-16le"
                  : input_.encoding() == TextEncoding::kUtf16Big  ? "utf-16be"
                  : latin1_                                       ? "latin-1"
                                                                  : "utf-8";
  if (const std::int64_t cut = input_.cut_lines() + cut_lines_; cut > 0) {
    evidence_.unread["joints of lines so long that they were read in pieces"] += cut;
  }
  file.looks = looks_.judge();
  file.program = program_.judge();
  if (file.program != model::ProgramIn::kNone) forget_what_was_told(evidence_);
  file.sample = sample_.take();
  file.settings = judge_settings(file.sample);
  evidence_.facts = collect_facts(evidence_);
  return std::move(evidence_);
}

base::Result<model::Evidence> not_a_text(std::string_view binary, std::string_view name) {
  return base::fail(base::ErrorCode::kUnsupported, "this is " + std::string(binary) + ", not a text", std::string(name),
                    "give the log, the traceback or what nvidia-smi printed as a text file");
}

template <class Entry>
void append(std::vector<Entry>& into, std::vector<Entry>& other) {
  into.insert(into.end(), std::make_move_iterator(other.begin()), std::make_move_iterator(other.end()));
}

void append(std::map<std::string, std::int64_t>& into, const std::map<std::string, std::int64_t>& other) {
  for (const auto& [name, count] : other) into[name] += count;
}

}  // namespace

model::SourceLine EvidenceSink::at(const LogLine& line) const {
  return {file_, line.number, cut_text(trim(line.text), limits_.longest_quote)};
}

model::Evidence parse_text_evidence(std::string_view bytes, std::string_view name, const TextLimits& limits,
                                    std::span<const TextFormat* const> formats) {
  TextPass pass(name, limits, formats.empty() ? text_formats() : formats);
  for (std::size_t at = 0; at < bytes.size(); at += limits.block) pass.feed(bytes.substr(at, limits.block));
  return pass.finish();
}

namespace {

// A file ends where it did when it was opened, even if a program goes on writing to it faster than it is read (0:
// nobody knows where); what a program writes into a pipe need not end (`yes | vramfit doctor -`).
base::Result<model::Evidence> read_stream(std::istream& stream, std::string_view name, const TextLimits& limits,
                                          bool ends, std::uint64_t size = 0) {
  TextPass pass(name, limits, text_formats());
  std::string block(limits.block, '\0');
  bool first = true;
  std::uint64_t read = 0, of_line = 0;  // bytes in all, and since the last line's end
  auto line_end_at = std::chrono::steady_clock::now();
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    const std::string_view bytes(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (std::exchange(first, false)) {
      if (const auto binary = find_binary(bytes)) return not_a_text(*binary, name);
    }
    pass.feed(bytes);
    read += bytes.size();
    of_line += bytes.size();
    if (bytes.find_first_of("\r\n") != std::string_view::npos) {
      of_line = 0;
      line_end_at = std::chrono::steady_clock::now();
    }
    const bool is_one_line =
        of_line > kMostOfLine || (of_line > 0 && std::chrono::steady_clock::now() - line_end_at > kLongestOfLine);
    if (!ends && is_one_line) {
      pass.leave_unread("what of a stream is behind a line that does not end");
      return pass.finish();
    }
    if (size > 0 && read >= size) break;
    if (!ends && read >= kMostStreamed) {
      pass.leave_unread("what of a stream is behind its first 256 MiB");
      return pass.finish();
    }
  }
  if (stream.bad()) return base::fail_errno("reading failed", std::string(name));
  return pass.finish();
}

bool is_packed(const std::filesystem::path& path) {
  char head[2] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(head, sizeof head) && head[0] == '\x1f' && head[1] == '\x8b';
}

// A log as logrotate leaves it. What comes out of it has a limit; a file that is damaged is read as far as it goes.
base::Result<model::Evidence> read_packed_text(const std::filesystem::path& path, const TextLimits& limits) {
  auto storage = pickle::FileStorage::open(path);
  if (!storage) return std::unexpected(storage.error());
  const auto packed = snapshot::inflate(std::make_unique<pickle::RangeSource>(*storage), snapshot::DeflateForm::kGzip);
  TextPass pass(path.string(), limits, text_formats());
  std::string block(limits.block, '\0');
  std::uint64_t read = 0;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  const std::uint64_t most =
      error ? kMostUnpacked : std::min(kMostUnpacked, std::max(kReadOfRepetition, size * kMostTimesPacked));
  while (read < most) {
    const auto got = packed->read(block);
    if (!got && read == 0) return std::unexpected(got.error());
    if (!got) pass.leave_unread("the end of a packed file that is damaged");
    if (!got || *got == 0) return pass.finish();
    const std::string_view bytes(block.data(), *got);
    if (const auto binary = read == 0 ? find_binary(bytes) : std::nullopt) return not_a_text(*binary, path.string());
    pass.feed(bytes);
    read += *got;
  }
  pass.leave_unread(most == kMostUnpacked ? "what of a packed file is behind its first 2 GiB"
                                          : "what of a packed file is behind 100 times its own size");
  return pass.finish();
}

}  // namespace

base::Result<model::Evidence> read_text_evidence(std::istream& stream, std::string_view name,
                                                 const TextLimits& limits) {
  return read_stream(stream, name, limits, /*ends=*/false);
}

base::Result<model::Evidence> read_text_evidence(const std::filesystem::path& path, const TextLimits& limits) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::fail(base::ErrorCode::kUsage, "this is a folder, not a text", path.string(), "name the files in it");
  }
  if (std::filesystem::is_character_file(path, error) || std::filesystem::is_block_file(path, error) ||
      std::filesystem::is_socket(path, error)) {
    if (std::filesystem::canonical(path, error) != "/dev/null") {
      return base::fail(base::ErrorCode::kUsage, "this is a device, not a text", path.string(),
                        "name a file, or - for standard input");
    }
  }
  if (std::filesystem::is_fifo(path, error)) {  // waited for as long as every other pipe, and not for ever
    const auto text = base::read_beginning(path, kMostStreamed);
    if (!text) return std::unexpected(text.error());
    std::istringstream stream(*text);
    return read_text_evidence(stream, path.string(), limits);
  }
  if (is_packed(path)) return read_packed_text(path, limits);
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return base::fail_errno("this file can't be opened", path.string());
  const std::uint64_t size = std::filesystem::file_size(path, error);
  return read_stream(stream, path.string(), limits, /*ends=*/true, error ? 0 : size);
}

void merge_evidence(model::Evidence& into, model::Evidence&& other) {
  model::for_each_evidence_list([&](const auto& each) { append(into.*each.list, other.*each.list); });
}

}  // namespace vramfit::ingest
