// Odd input is kept out and counted under a name, with what it costs the reader.
#ifndef VRAMFIT_MODEL_ODD_INPUT_H
#define VRAMFIT_MODEL_ODD_INPUT_H

#include <cstdint>
#include <string>

namespace vramfit::model {

enum class OddWeight { kInfo, kDataLost, kWrongAnswerPossible };
struct OddInput {
  OddWeight weight = OddWeight::kInfo;
  std::int64_t count = 0;
  std::string first;  // what the first was, where it has a name
  friend bool operator==(const OddInput&, const OddInput&) = default;
};

}  // namespace vramfit::model

#endif
