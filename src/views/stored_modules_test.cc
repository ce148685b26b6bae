#include "ingest/stored_modules.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/modules_json.h"
#include "report/testing/module_tables.h"

namespace vramfit::views {
namespace {

using nlohmann::json;

json written(const model::ModuleTable& table) { return json::parse(report::modules_to_json(table).dump()); }

TEST(ReportModules, what_was_written_is_read) {
  const model::ModuleTable table = report::testing::residual_network(3);
  const auto read = ingest::read_modules(written(table));
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(*read, table);
}

TEST(ReportModules, a_run_without_the_flag_has_none) { EXPECT_EQ(ingest::read_modules(json::object()), nullptr); }

TEST(ReportModules, what_is_no_such_table_is_refused) {
  json wrong = written(report::testing::residual_network(3));
  wrong["module_edges"][0]["to"] = 1000;
  EXPECT_THROW(ingest::read_modules(wrong), json::exception);
  wrong = written(report::testing::residual_network(3));
  wrong["module_branches"][0]["kind"] = "a surprise";
  EXPECT_THROW(ingest::read_modules(wrong), json::exception);
  wrong = written(report::testing::residual_network(3));
  wrong.erase("module_nodes");
  EXPECT_THROW(ingest::read_modules(wrong), json::exception);
}

}  // namespace
}  // namespace vramfit::views
