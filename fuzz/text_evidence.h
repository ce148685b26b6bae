// What must hold of everything that is read out of a text, whatever the text.
#ifndef VRAMFIT_FUZZ_TEXT_EVIDENCE_H
#define VRAMFIT_FUZZ_TEXT_EVIDENCE_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

#include "ingest/text/read_text.h"

namespace vramfit::fuzz {

inline void require(bool holds) {
  if (!holds) std::abort();
}

inline void check_size(const std::optional<model::PrintedBytes>& size) {
  if (size) require(size->low <= size->high);
}

// Reads with the given readers, at once and in small pieces: the same must come out, with lines that exist and
// intervals that are not empty.
inline void check_text(const std::uint8_t* data, std::size_t size, std::span<const ingest::TextFormat* const> formats) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const model::Evidence whole = ingest::parse_text_evidence(text, "fuzz", {}, formats);
  const model::Evidence pieces = ingest::parse_text_evidence(text, "fuzz", {.block = 61}, formats);
  require(whole == pieces);
  const std::int64_t lines = whole.files.at(0).lines;
  for (const model::OomMessage& oom : whole.ooms) {
    require(oom.at.line >= 1 && oom.at.line <= lines);
    check_size(oom.tried), check_size(oom.arithmetic.tensor), check_size(oom.arithmetic.others);
    if (oom.tried) require(oom.tried->low.count() >= 0);
  }
  for (const model::Traceback& traceback : whole.tracebacks) {
    require(!traceback.exceptions.empty());
    for (const model::PhaseMark& mark : traceback.marks) {
      require(mark.exception < traceback.exceptions.size());
      require(mark.frame < traceback.exceptions[mark.exception].frames.size());
    }
  }
  for (const model::Fact& fact : whole.facts) {
    require(fact.bytes.has_value() != fact.number.has_value());
    check_size(fact.bytes);
  }
}

}  // namespace vramfit::fuzz

#endif
