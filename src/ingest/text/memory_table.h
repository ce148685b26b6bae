// Tables whose first line names the columns and one of them a card's memory, whatever separates them:
//
//   step,loss,gpu_mem_mb,lr            Epoch   gpu_mem       box       obj
//   0,2.300,3200,0.001                 0/299     3.20G   0.00511   0.00221
#ifndef VRAMFIT_INGEST_TEXT_MEMORY_TABLE_H
#define VRAMFIT_INGEST_TEXT_MEMORY_TABLE_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/text/memory_label.h"

namespace vramfit::ingest {

class MemoryTable {
 public:
  struct Row {
    LabelledMemory memory;  // of the first such column
    std::optional<std::int64_t> step;
  };

  // Nothing: the line is no such head.
  static std::optional<MemoryTable> open(std::string_view head);
  // Nothing: the line is no row of it.
  std::optional<Row> read(std::string_view line) const;

 private:
  char separator_ = ',';  // ' ': any blanks
  std::vector<std::string> columns_;
  std::size_t memory_ = 0;  // that column
  MemoryLabel kind_;
  std::optional<std::size_t> step_;
};

}  // namespace vramfit::ingest

#endif
