// Whether a text is settings or a list of packages, by its content: what has another name, or comes through a pipe.
// Every line has to be such a one; a log that begins with its settings is a log.
#ifndef VRAMFIT_INGEST_TEXT_SETTINGS_TEXT_H
#define VRAMFIT_INGEST_TEXT_SETTINGS_TEXT_H

#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

// YAML, TOML, INI or one JSON object with names of trainings and models; what `pip install -r` takes; kNone: neither.
model::SettingsIn judge_settings(std::string_view text);

}  // namespace vramfit::ingest

#endif
