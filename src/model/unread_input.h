// Input that a reader could not use is kept out and counted under a name, with what it costs the reader.
#ifndef VRAMFIT_MODEL_UNREAD_INPUT_H
#define VRAMFIT_MODEL_UNREAD_INPUT_H

#include <cstdint>
#include <string>

namespace vramfit::model {

enum class LossSeverity { kDataLost, kWrongAnswerPossible };
struct UnreadInput {
  LossSeverity weight = LossSeverity::kDataLost;
  std::int64_t count = 0;
  std::string first;  // what the first ones were, where they have names
  friend bool operator==(const UnreadInput&, const UnreadInput&) = default;
};

}  // namespace vramfit::model

#endif
