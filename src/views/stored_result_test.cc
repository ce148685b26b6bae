// The members of a result are written (src/report), read back (src/ingest) and described (docs/run.schema.json), each
// by hand. Here a result that has every described member is read and written again, and all of it has to come back.
#include "ingest/stored_result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "report/fit_json.h"
#include "report/testing/schema_check.h"

namespace vramfit::views {
namespace {

using nlohmann::json;

// Written from other members, and made anew of them.
constexpr auto kDerived = std::to_array<std::string_view>({
    "fit.floor.sum_bytes",
    "losses[].severity",
    "losses[].text",
    "module_branches[].freed_bytes",
});

// Where any value will not do: places in lists, words that are looked up, versions.
std::map<std::string, json, std::less<>> chosen() {
  std::map<std::string, json, std::less<>> values = {
      {"schema", 2},
      {"vramfit", "0.1.0"},
      {"losses[].kind", "hook_failed"},
      {"fit.verdict", "plan_fits"},
      {"fit.free_run", nullptr},  // a whole result: Report.a_run_within_a_fit_is_read_back_too
      {"module_edges[].from", 0},
      {"module_edges[].to", 0},
      {"estimated_step_seconds.source", "model"},
      {"evidence.oom.thread", "pin"},
      {"evidence.threads[].role", "pin"},
  };
  for (const std::string plans : {"fit.plans[]", "fit.lost[]", "fit.foreseen[]", "fit.front[]"}) {
    values[plans + ".techniques"] = json::parse(R"([{"id": "micro_batch", "micro_batch": 4, "loaders": [0, 2]}])");
    values[plans + ".predicted.source"] = values[plans + ".time.source"] = "model";
    values[plans + ".proven.source"] = "run";
  }
  return values;
}

json run_schema() {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/run.schema.json");
  return json::parse(file);
}

// A value with every member that the schema has: numbers and texts all differ, and none is what a member that nobody
// read would have.
class FullExample {
 public:
  explicit FullExample(const json& schema) : schema_(schema) {}

  json make() { return value_of(schema_, ""); }

 private:
  json value_of(const json& described, const std::string& path) {
    if (const auto found = chosen_.find(path); found != chosen_.end()) return found->second;
    if (described.contains("$ref")) {
      const std::string reference = described["$ref"];
      return value_of(schema_["$defs"][reference.substr(reference.rfind('/') + 1)], path);
    }
    if (described.contains("oneOf")) return value_of(described["oneOf"].back(), path);
    if (described.contains("enum")) return described["enum"].front();
    const json& types = described.at("type");
    const std::string type = types.is_array() ? types.front() : types;
    if (type == "array") return json::array({value_of(described.at("items"), path + "[]")});
    if (type == "boolean") return true;
    if (type == "integer") return ++count_;
    if (type == "number") return ++count_ + 0.5;
    if (type == "string") return "text " + std::to_string(++count_);
    json object = json::object();
    if (!described.contains("properties")) return object;
    for (const auto& [name, member] : described["properties"].items()) {
      object[name] = value_of(member, path.empty() ? name : path + "." + name);
    }
    return object;
  }

  const json& schema_;
  const std::map<std::string, json, std::less<>> chosen_ = chosen();
  int count_ = 0;
};

using Members = std::map<std::string, json>;

void flatten(const json& value, const std::string& path, Members& into) {
  if (value.is_array()) {
    for (const json& one : value) flatten(one, path + "[]", into);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) flatten(member, path.empty() ? name : path + "." + name, into);
  } else {
    into[path] = value;
  }
}

bool is_within(std::string_view path, std::string_view part) {
  return path.starts_with(part) && (path.size() == part.size() || path[part.size()] == '.' || path[part.size()] == '[');
}

class StoredResult : public ::testing::Test {
 protected:
  void SetUp() override {
    const json schema = run_schema();
    const json example = FullExample(schema).make();
    ASSERT_EQ(report::testing::find_violations(example, schema), std::vector<std::string>());
    auto read = ingest::read_stored_result(example.dump());
    ASSERT_TRUE(read) << read.error().what;
    ASSERT_TRUE(read->fit);
    read->fit->as_is = read->run;
    flatten(example, "", described_);
    flatten(json::parse(report::fit_to_json(*read->fit, "0.1.0")), "", again_);
  }

  Members described_, again_;
};

TEST_F(StoredResult, every_member_comes_back_as_it_was_written) {
  for (const auto& [path, value] : described_) {
    const auto written = again_.find(path);
    EXPECT_TRUE(written != again_.end()) << path << " is described, and not read back";
    if (written == again_.end()) continue;
    const bool is_derived = std::ranges::find(kDerived, path) != kDerived.end();
    if (is_derived) continue;
    EXPECT_EQ(written->second, value) << path;
  }
}

TEST_F(StoredResult, nothing_is_written_that_the_schema_lacks) {
  for (const auto& [path, value] : again_) {
    const bool is_known = std::ranges::any_of(described_, [&](const auto& known) {
      return known.first == path || (value.is_null() && is_within(known.first, path));
    });
    EXPECT_TRUE(is_known) << path;
  }
}

TEST_F(StoredResult, nothing_is_read_that_the_schema_lacks) {
  std::set<std::string> described;
  for (const auto& [path, value] : described_) {
    std::istringstream members(path);
    for (std::string name; std::getline(members, name, '.');) described.insert(name.substr(0, name.find('[')));
  }
  const std::regex reads(
      R"re(\b(?:text|text_of|bytes|whole_or|rows|find|value|at|contains|required_\w+)\((?:\*?\w+, )?"(\w+)")re");
  for (const char* source : {"stored_result.cc", "stored_modules.cc", "run_file.cc"}) {
    std::ifstream file(std::string(VRAMFIT_SOURCE_DIR "/src/ingest/") + source);
    const std::string code(std::istreambuf_iterator<char>(file), {});
    int found = 0;
    for (std::sregex_iterator at(code.begin(), code.end(), reads), end; at != end; ++at, ++found) {
      EXPECT_TRUE(described.contains((*at)[1])) << source << " reads " << (*at)[1];
    }
    EXPECT_GT(found, 3) << source;
  }
}

}  // namespace
}  // namespace vramfit::views
