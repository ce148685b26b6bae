#include "http/page_guard.h"

#include <gtest/gtest.h>

namespace vramfit::http {
namespace {

bool is_let_in(const Request& request, const GuardRules& rules = {}) { return !refuse_stranger(request, rules); }

TEST(PageGuard, hosts_of_this_machine_are_let_in_by_any_port) {
  for (const char* host : {"127.0.0.1:9837", "127.0.0.1", "localhost:1", "LOCALHOST:9", "[::1]:9837", "127.9.9.9:80"}) {
    EXPECT_TRUE(is_let_in({.host = host})) << host;
  }
}

TEST(PageGuard, other_hosts_are_refused_whatever_they_look_like) {
  for (const char* host :
       {"", "evil.example", "evil.example:9837", "127.0.0.1.evil.example", "localhost.evil.example:80", "192.168.1.2",
        "[::2]:80", "127.0.0.1:80@evil.example", "[::1", "[]", ":80", "localhost:80:90", "0x7f.1", "2130706433",
        "localhost.", "127.0.0.1 evil", "user@localhost"}) {
    EXPECT_FALSE(is_let_in({.host = host})) << host;
  }
}

TEST(PageGuard, a_server_that_is_meant_for_others_takes_numbers_and_its_own_name) {
  const GuardRules rules{.any_address = true, .names = {"workstation"}};
  for (const char* host : {"192.168.1.2:9837", "workstation:9837", "Workstation", "[fe80::1]:1", "localhost"}) {
    EXPECT_TRUE(is_let_in({.host = host}, rules)) << host;
  }
  for (const char* host : {"evil.example", "workstation.evil.example", ""}) {
    EXPECT_FALSE(is_let_in({.host = host}, rules)) << host;
  }
}

TEST(PageGuard, a_program_may_ask_by_any_name_where_others_are_meant_and_a_browser_may_not) {
  const GuardRules rules{.any_address = true, .names = {"workstation"}, .programs_by_any_name = true};
  for (const char* host : {"gpu7.cluster.example:9836", "metrics", "", "192.168.1.2:9836"}) {
    EXPECT_TRUE(is_let_in({.host = host}, rules)) << host;
  }
  EXPECT_FALSE(is_let_in({.host = "evil.example", .language = "en"}, rules));
  EXPECT_FALSE(is_let_in({.host = "evil.example", .fetch_site = "same-origin", .fetch_mode = "cors"}, rules));
  EXPECT_FALSE(is_let_in({.host = "gpu7.example", .origin = "http://evil.example"}, rules));
  EXPECT_TRUE(is_let_in({.host = "192.168.1.2", .language = "en"}, rules));
  EXPECT_TRUE(is_let_in({.host = "workstation:9836", .language = "en"}, rules));
}

TEST(PageGuard, an_origin_must_be_the_pages_own) {
  EXPECT_TRUE(is_let_in({.host = "localhost:9837", .origin = "http://localhost:9837"}));
  for (const char* origin :
       {"http://evil.example", "null", "https://localhost:9837", "http://localhost:9838", "http://localhost"}) {
    EXPECT_FALSE(is_let_in({.host = "localhost:9837", .origin = origin})) << origin;
  }
}

TEST(PageGuard, another_sites_page_may_link_here_and_not_read) {
  EXPECT_TRUE(is_let_in({.host = "localhost", .fetch_site = "cross-site", .fetch_mode = "navigate"}));
  EXPECT_TRUE(is_let_in({.host = "localhost", .fetch_site = "same-origin", .fetch_mode = "cors"}));
  EXPECT_TRUE(is_let_in({.host = "localhost", .fetch_site = "none", .fetch_mode = "navigate"}));
  EXPECT_FALSE(is_let_in({.host = "localhost", .fetch_site = "cross-site", .fetch_mode = "no-cors"}));
  EXPECT_FALSE(is_let_in({.host = "localhost", .fetch_site = "same-site", .fetch_mode = "cors"}));
}

TEST(PageGuard, a_token_comes_by_the_address_once_and_by_the_cookie_from_then_on) {
  const Entry first = check_token({.query = "sort=peak&token=abc123"}, "abc123");
  EXPECT_FALSE(first.refused);
  EXPECT_TRUE(first.cookie.contains("=abc123; ")) << first.cookie;
  EXPECT_TRUE(first.cookie.contains("HttpOnly")) << first.cookie;
  const std::string kept = first.cookie.substr(0, first.cookie.find(';'));
  const Entry later = check_token({.cookie = "theme=dark; " + kept}, "abc123");
  EXPECT_FALSE(later.refused);
  EXPECT_EQ(later.cookie, "");
  EXPECT_FALSE(check_token({}, "").refused) << "a server without a token asks for none";
}

TEST(PageGuard, who_has_no_token_or_another_is_told_nothing) {
  for (const char* query : {"", "token=", "token=abc12", "token=abc1234", "token=ABC123", "mytoken=abc123"}) {
    const Entry entry = check_token({.query = query}, "abc123");
    ASSERT_TRUE(entry.refused) << query;
    EXPECT_EQ(entry.refused->status, 403) << query;
    EXPECT_EQ(entry.cookie, "") << query;
  }
  EXPECT_TRUE(check_token({.cookie = "vramfit-token=abc12"}, "abc123").refused);
  EXPECT_TRUE(check_token({.cookie = "x=vramfit-token=abc123"}, "abc123").refused);
}

}  // namespace
}  // namespace vramfit::http
