// Reads settings, versions and marks of the platform that a text shows by the way, and sentences that name a cause.
#ifndef VRAMFIT_INGEST_TEXT_SETTINGS_H
#define VRAMFIT_INGEST_TEXT_SETTINGS_H

#include "ingest/text/reader.h"

namespace vramfit::ingest {

extern const TextFormat kSettingsFormat;
extern const TextFormat kRemarksFormat;

}  // namespace vramfit::ingest

#endif
