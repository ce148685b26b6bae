#include "http/history_site.h"

#include <gtest/gtest.h>

namespace vramfit::http {
namespace {

using Values = std::vector<std::string>;

TEST(HistorySite, query_values_are_decoded) {
  EXPECT_EQ(query_values("n=1&n=2&m=3", "n"), (Values{"1", "2"}));
  EXPECT_EQ(query_values("q=a+b%20c%2Fd", "q"), Values{"a b c/d"});
  EXPECT_EQ(query_values("q=%zz%4", "q"), Values{"%zz%4"});
  EXPECT_EQ(query_values("q", "q"), Values{""});
  EXPECT_EQ(query_values("&&=x&", "q"), Values{});
  EXPECT_EQ(query_values("", ""), Values{});
}

}  // namespace
}  // namespace vramfit::http
