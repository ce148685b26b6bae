// What a reader of one kind of text is: it names the words by which its texts are known, and takes them line by line.
#ifndef VRAMFIT_INGEST_TEXT_READER_H
#define VRAMFIT_INGEST_TEXT_READER_H

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/evidence.h"

namespace vramfit::ingest {

struct TextLimits {
  std::size_t longest_line = 1 << 20;  // bytes; a longer line is read in pieces
  std::size_t most_of_line = 4 << 20;  // bytes of one line; behind them only its last piece is read
  std::size_t longest_quote = 600;     // bytes of a line kept in a SourceLine
  std::size_t most_entries = 4096;     // of one kind in one file
  std::size_t block = 1 << 20;         // bytes read at once
};

// One line, or one of the texts between carriage returns that a progress bar left on it.
struct LogLine {
  std::string_view whole;   // clean, with its prefix
  std::string_view text;    // clean, without
  std::int64_t number = 0;  // from 1
  const model::Speaker& speaker;
  std::string_view before;  // some raw text that stands before the line, for a reader that sees it began earlier
  std::string_view stream;  // equal for the lines of one rank or process, in a log where several write
  bool has_words = true;    // of the reader that is asked; else it is because it wants more
};

// Where readers put what they find.
class EvidenceSink {
 public:
  EvidenceSink(std::string file, const TextLimits& limits, model::Evidence& evidence)
      : file_(std::move(file)), limits_(limits), evidence_(evidence) {}

  model::Evidence& evidence() { return evidence_; }
  const model::Evidence& evidence() const { return evidence_; }
  const TextLimits& limits() const { return limits_; }
  model::SourceLine at(const LogLine& line) const;
  void count_unread(std::string_view what) { ++evidence_.unread[std::string(what)]; }

  // Keeps the entry, or counts it when there are too many of its kind already.
  template <class Entry>
  void add(std::vector<Entry>& entries, Entry entry, std::string_view kind) {
    if (entries.size() < limits_.most_entries) {
      entries.push_back(std::move(entry));
    } else {
      count_unread(std::string(kind) + " beyond the limit");
    }
  }

 private:
  std::string file_;
  const TextLimits& limits_;
  model::Evidence& evidence_;
};

class TextReader {
 public:
  virtual ~TextReader() = default;
  // Called for every line that has one of the reader's words, and for all lines while wants_more().
  virtual void read(const LogLine& line, EvidenceSink& sink) = 0;
  virtual bool wants_more() const { return false; }
  // The end of the file.
  virtual void finish(EvidenceSink&) {}
};

// A format: its name, the words of which at least one is in the first line of every text of it (lower case, four
// letters or more), and how its reader is made.
struct TextFormat {
  std::string_view name;
  std::span<const std::string_view> words;
  std::unique_ptr<TextReader> (*make)();
};

}  // namespace vramfit::ingest

#endif
