// Whether a text is a program that nobody ran yet, and nothing else: Python, by its statements, a notebook without
// output, or another language, by its blocks and how its lines end. A line that a program printed, or that somebody
// wrote beside it, is no statement.
#ifndef VRAMFIT_INGEST_TEXT_PROGRAM_TEXT_H
#define VRAMFIT_INGEST_TEXT_PROGRAM_TEXT_H

#include <string>
#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

class ProgramText {
 public:
  void add(std::string_view block);
  model::ProgramIn judge() const;

 private:
  std::string first_;
  std::string joint_;  // the end of the last block
  bool is_whole_ = true, has_output_ = false;
};

}  // namespace vramfit::ingest

#endif
