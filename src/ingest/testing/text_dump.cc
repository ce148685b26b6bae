// Prints what the readers of text find, for measurements and for looking at them:
//   vramfit_text_dump facts FILE...   how many of each kind, and all parsed numbers, as JSON
//   vramfit_text_dump time FILE       seconds, bytes and megabytes (10^6) a second
// Exit 1: a file was refused; the error is on stderr.
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "ingest/text/read_text.h"
#include "model/evidence_lists.h"

namespace {

using namespace vramfit;
using nlohmann::json;

json to_json(const model::Evidence& evidence) {
  json result;
  model::for_each_evidence_list([&](const auto& each) { result[each.name] = (evidence.*each.list).size(); });
  result["unread"] = evidence.unread;
  json& facts = result["facts"] = json::array();
  for (const model::Fact& fact : evidence.facts) {
    json entry{{"name", fact.name}, {"file", fact.at.file}, {"line", fact.at.line}};
    if (fact.bytes) {
      entry["bytes"] = fact.bytes->value.count();
      entry["low_bytes"] = fact.bytes->low.count();
      entry["high_bytes"] = fact.bytes->high.count();
    }
    if (fact.number) entry["number"] = *fact.number;
    facts.push_back(std::move(entry));
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: vramfit_text_dump facts|time FILE...\n", stderr);
    return 2;
  }
  model::Evidence all;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 2; i < count; ++i) {
    auto evidence = ingest::read_text_evidence(std::filesystem::path(arguments[i]));
    if (!evidence) {
      std::fprintf(stderr, "%s\n", base::to_string(evidence.error()).c_str());
      return 1;
    }
    ingest::merge_evidence(all, std::move(*evidence));
  }
  json result;
  if (std::string_view(arguments[1]) == "time") {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::int64_t bytes = 0;
    for (const model::TextFile& file : all.files) bytes += file.bytes;
    result = {{"seconds", seconds},
              {"bytes", bytes},
              {"mb_per_s", static_cast<double>(bytes) / 1e6 / seconds},
              {"ooms", all.ooms.size()}};
  } else {
    result = to_json(all);
  }
  std::fputs(base::json_file(result).c_str(), stdout);
  return 0;
}
