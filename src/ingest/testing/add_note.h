// A note for tests, as the hooks would write it.
#ifndef VRAMFIT_INGEST_TESTING_ADD_NOTE_H
#define VRAMFIT_INGEST_TESTING_ADD_NOTE_H

#include <gtest/gtest.h>

#include <string>

#include "ingest/note_fields.h"
#include "model/recording.h"

namespace vramfit::ingest::testing {

// `fields` has the kind too.
inline void add_note(model::Recording& recording, const nlohmann::json& fields) {
  UnreadFields unread;
  EXPECT_TRUE(read_note(fields.at("kind").get<std::string>(), fields, recording.notes, unread)) << fields;
}

inline void add_note(model::Recording& recording, const char* text) {
  add_note(recording, nlohmann::json::parse(text));
}

}  // namespace vramfit::ingest::testing

#endif
