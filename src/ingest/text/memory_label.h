// Numbers of a log that its own words call a card's memory, in whatever form: "gpu_mem_mb=3200", "CUDA memory after
// step: 5.2GB", {"cuda/allocated_gib": 3.2}, "mem 9000MB", a column of a table.
//
// A label is judged by its words, whoever wrote the program: one of them speaks of memory, none of the host, and none
// says that the number is something else (a total, a ratio, the slots of a memory bank). A number without a unit counts
// where the label names one, or names the card; one in percent where it names the card.
#ifndef VRAMFIT_INGEST_TEXT_MEMORY_LABEL_H
#define VRAMFIT_INGEST_TEXT_MEMORY_LABEL_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/printed_bytes.h"

namespace vramfit::ingest {

struct MemoryLabel {
  bool is_of_card = false;  // it says so: GPU, CUDA, VRAM, or PyTorch's words
  bool is_peak = false, is_reserved = false, is_allocated = false, is_free = false;
  bool is_percent = false;  // "gpu_mem_pct"
  std::int64_t unit = 0;    // bytes; 0: it names none
};

// Nothing: no label of a card's memory.
std::optional<MemoryLabel> read_memory_label(std::string_view label);

// The number at the start of `text` under such a label: "3.2GB", "3.2/24GB", "1258291200". Nothing: it is no amount.
std::optional<model::PrintedBytes> read_labelled_amount(std::string_view text, const MemoryLabel& label);

// "61%", "61.2 %", and a bare number where the label says percent. Nothing: it is no share, or of no card that is
// named.
std::optional<double> read_labelled_percent(std::string_view text, const MemoryLabel& label);

struct LabelledMemory {
  std::string label;  // as the line has it
  MemoryLabel kind;
  std::optional<model::PrintedBytes> bytes;
  std::optional<double> percent;  // of the card's memory; one of the two is there
};
// The amount or the share at the start of `text`. Nothing: neither.
std::optional<LabelledMemory> read_labelled(std::string_view text, std::string_view label, const MemoryLabel& kind);

std::vector<LabelledMemory> find_labelled_memory(std::string_view text);

}  // namespace vramfit::ingest

#endif
