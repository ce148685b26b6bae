#include "ingest/text/oom_mention.h"

#include <algorithm>
#include <array>

#include "base/out_of_memory.h"
#include "ingest/text/cursor.h"
#include "ingest/text/memory_trouble.h"

namespace vramfit::ingest {
namespace {

using Words = std::string_view;

// Tell it by themselves. The last ones are what people write in Chinese, Korean and Japanese forums.
constexpr std::array kNames{Words("outofmemoryerror"),
                            Words("cudaoutofmemory"),
                            Words("no executable batch size found"),
                            Words("no batch size fits"),
                            Words("cuda oom"),
                            Words("gpu oom"),
                            Words("显存不足"),
                            Words("显存溢出"),
                            Words("爆显存"),
                            Words("显存爆"),
                            Words("메모리 부족"),
                            Words("메모리가 부족"),
                            Words("メモリ不足"),
                            Words("メモリが不足")};
constexpr std::array kCards{Words("cuda"), Words("gpu"), Words("vram"), Words("hip "), Words("video memory")};
constexpr std::array kCodeWords{Words("except "), Words("raise "),   Words("import "), Words("isinstance("),
                                Words("class "),  Words("#include"), Words("catch (")};
constexpr std::array kAdvice{Words("if "),
                             Words("avoid"),
                             Words("prevent"),
                             Words("in case"),
                             Words("when you"),
                             Words("might "),
                             Words("may "),
                             Words("could "),
                             Words("would "),
                             Words("without "),
                             Words("no cuda out of memory"),
                             Words("solve")};
constexpr std::array kOomMentionWords{Words("memory"),       Words("cuda oom"),      Words("gpu oom"),
                                      Words("batch size f"), Words("no batch size"), Words("显存"),
                                      Words("메모리"),       Words("メモリ")};

// "CUDA OOMs: 0", of torch.cuda.memory_summary().
bool says_none(std::string_view text) {
  const std::size_t at = find_ignoring_case(text, "cuda ooms");
  if (at == kNowhere) return false;
  const auto count = Cursor(text.substr(text.find_first_not_of(": ", at + 9))).take_integer();
  return count == 0;
}

class OomMentionReader final : public TextReader {
 public:
  void read(const LogLine& line, EvidenceSink& sink) override {
    if (mentions_oom(line.text))
      sink.add(sink.evidence().oom_mentions, sink.at(line), "mentions of memory that ran out");
  }
};

}  // namespace

bool mentions_oom(std::string_view text) {
  if (is_passed_test(text) || says_none(text)) return false;
  const bool is_told = contains_any(text, kNames) || (base::says_out_of_memory(text) && contains_any(text, kCards));
  return is_told && !contains_any(text, kCodeWords) && !contains_any(text, kAdvice);
}

const TextFormat kOomMentionFormat{"oom_mention", kOomMentionWords,
                                   [] { return std::unique_ptr<TextReader>(new OomMentionReader); }};

}  // namespace vramfit::ingest
