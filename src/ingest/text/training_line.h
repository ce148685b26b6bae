// What one line of a training program's log says of memory.
#ifndef VRAMFIT_INGEST_TEXT_TRAINING_LINE_H
#define VRAMFIT_INGEST_TEXT_TRAINING_LINE_H

#include <optional>
#include <string_view>

#include "ingest/text/memory_label.h"
#include "model/evidence.h"

namespace vramfit::ingest {

// The memory, without where in the training that was; nothing: the line is none of such a log.
std::optional<model::TrainingLogPoint> find_memory(std::string_view text);
// The first of each kind counts.
void take_reading(const LabelledMemory& found, model::TrainingLogPoint& point);
// Epoch, step and phase, into what find_memory() gave.
void find_whereabouts(std::string_view text, model::TrainingLogPoint& point);

}  // namespace vramfit::ingest

#endif
