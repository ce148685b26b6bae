// What comes through the oracle's pipe, or out of the file of its answers: refused, or the same after a round trip.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace oracle = vramfit::cudnn_oracle;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (const auto question = oracle::decode_question(bytes)) {
    if (oracle::decode_question(oracle::encode(*question)) != *question) std::abort();
  }
  if (const auto answer = oracle::decode_answer(bytes)) {
    if (oracle::decode_answer(oracle::encode(*answer)) != *answer) std::abort();
  }
  return 0;
}
