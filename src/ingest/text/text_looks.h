// Whether a text is of a kind that is known: a log, by its dated lines or its steps and losses. Judged by its
// beginning.
#ifndef VRAMFIT_INGEST_TEXT_TEXT_LOOKS_H
#define VRAMFIT_INGEST_TEXT_TEXT_LOOKS_H

#include <cstddef>
#include <string>
#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

class LooksOfText {
 public:
  void add(std::string_view block);
  model::TextLooks judge() const;

 private:
  std::string first_;
  bool has_words_ = false;
  std::size_t signs_ = 0;  // that are no blanks
};

}  // namespace vramfit::ingest

#endif
