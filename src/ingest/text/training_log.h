// Reads the memory numbers that training programs log: DeepSpeed, Lightning, Hugging Face, OpenMMLab, Megatron,
// torchtitan, Detectron2, Ultralytics, fairseq, torchvision's references, and lines of the user's own ("allocated: 3.2
// GB").
#ifndef VRAMFIT_INGEST_TEXT_TRAINING_LOG_H
#define VRAMFIT_INGEST_TEXT_TRAINING_LOG_H

#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kTrainingLogFormat;

// One line; without `at` and `speaker`. DeepSpeed's `label` stands on the line before, which the reader adds.
std::optional<model::TrainingLogPoint> parse_training_log(std::string_view text);

}  // namespace vramfit::ingest

#endif
