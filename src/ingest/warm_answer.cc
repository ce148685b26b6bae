#include "ingest/warm_answer.h"

#include "ingest/told_json.h"

namespace vramfit::ingest {

model::told::WarmAnswer read_warm_answer(std::string_view line) {
  model::told::WarmAnswer answer;
  UnreadFields ignored;
  read(json::parse(line, nullptr, /*allow_exceptions=*/false), answer, ignored);
  return answer;
}

}  // namespace vramfit::ingest
