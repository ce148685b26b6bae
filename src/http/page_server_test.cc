#include "http/page_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"

namespace vramfit::http {
namespace {

base::FileDescriptor connect_to(const Address& address) {
  base::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{.sin_family = AF_INET, .sin_port = htons(address.port)};
  ::inet_pton(AF_INET, address.host.c_str(), &place.sin_addr);
  EXPECT_EQ(::connect(socket.number(), reinterpret_cast<sockaddr*>(&place), sizeof place), 0);
  return socket;
}

std::string talk(const Address& address, const std::string& request) {
  const auto socket = connect_to(address);
  EXPECT_EQ(::send(socket.number(), request.data(), request.size(), MSG_NOSIGNAL), std::ssize(request));
  std::string answer;
  std::array<char, 1024> piece;
  for (ssize_t got = 0; (got = ::recv(socket.number(), piece.data(), piece.size(), 0)) > 0;) {
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  return answer;
}

std::string get(const Address& address, const std::string& path, const std::string& verb = "GET") {
  return talk(address, verb + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

PageServer start() {
  auto server = PageServer::start({}, [](const Request& request) {
    if (request.path == "/broken") throw std::runtime_error("broken");
    return Page{.body = "page " + std::string(request.path) + "\n"};
  });
  EXPECT_TRUE(server);
  return std::move(*server);
}

TEST(PageServer, answers_and_leaves_the_query_out) {
  const PageServer server = start();
  EXPECT_EQ(server.address().host, "127.0.0.1");
  const std::string answer = get(server.address(), "/metrics?x=1");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_TRUE(answer.ends_with("\r\n\r\npage /metrics\n")) << answer;
}

TEST(PageServer, only_tells) {
  const PageServer server = start();
  EXPECT_TRUE(get(server.address(), "/", "POST").starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(get(server.address(), "/", "DELETE").starts_with("HTTP/1.1 405"));
  const std::string head = get(server.address(), "/x", "HEAD");
  EXPECT_NE(head.find("Content-Length: 8"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(PageServer, survives_what_is_no_request_and_a_page_that_fails) {
  const PageServer server = start();
  EXPECT_TRUE(talk(server.address(), "\x16\x03\x01 nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  const std::string large = "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n";
  EXPECT_TRUE(talk(server.address(), large).starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(get(server.address(), "/broken").starts_with("HTTP/1.1 500"));
  EXPECT_TRUE(get(server.address(), "/ok").starts_with("HTTP/1.1 200"));
}

TEST(PageServer, silent_connections_hold_nobody_up) {
  const PageServer server = start();
  std::vector<base::FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(server.address()));
  EXPECT_TRUE(get(server.address(), "/ok").starts_with("HTTP/1.1 200"));
}

TEST(PageServer, who_sends_a_byte_now_and_then_is_cut_off) {
  const auto server =
      PageServer::start({}, [](const Request&) { return Page(); }, {.timeout = std::chrono::milliseconds(100)});
  ASSERT_TRUE(server);
  const auto socket = connect_to(server->address());
  std::array<char, 64> piece;
  ::send(socket.number(), "GET / HTTP/1.1\r\n", 16, MSG_NOSIGNAL);
  ssize_t got = -1;
  while (got < 0) {  // its bytes do not buy it time
    ::send(socket.number(), "X: y\r\n", 6, MSG_NOSIGNAL);
    got = ::recv(socket.number(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN) got = 0;  // reset
    ::usleep(1000);
  }
  EXPECT_EQ(got, 0);
}

// A browser keeps its connections open, and any program may: whoever comes next is heard all the same.
TEST(PageServer, connections_that_wait_make_room_for_one_that_asks) {
  const auto server = PageServer::start({}, [](const Request&) { return Page{.body = "heard"}; }, {.connections = 2});
  ASSERT_TRUE(server);
  std::vector<base::FileDescriptor> open;
  for (int i = 0; i < 2; ++i) {
    open.push_back(connect_to(server->address()));
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ::send(open.back().number(), request.data(), request.size(), MSG_NOSIGNAL);
    char byte = 0;
    EXPECT_EQ(::recv(open.back().number(), &byte, 1, 0), 1) << "it is heard";
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(get(server->address(), "/").ends_with("heard")) << i;
}

TEST(PageServer, a_long_answer_holds_nobody_up_where_there_are_threads) {
  std::atomic<bool> go_on = false;
  const auto server = PageServer::start({},
                                        [&](const Request& request) {
                                          while (request.path == "/long" && !go_on) ::usleep(1000);
                                          return Page{.body = "done"};
                                        },
                                        {.threads = 2});
  ASSERT_TRUE(server);
  std::thread waiting([&] { EXPECT_TRUE(get(server->address(), "/long").ends_with("done")); });
  EXPECT_TRUE(get(server->address(), "/short").ends_with("done"));
  go_on = true;
  waiting.join();
}

TEST(PageServer, headers_of_the_request_are_told_and_two_hosts_are_none) {
  const auto server = PageServer::start({}, [](const Request& request) {
    return Page{.body = "<" + std::string(request.host) + "|" + std::string(request.query) + "|" +
                        std::string(request.origin) + ">"};
  });
  ASSERT_TRUE(server);
  const auto ask = [&](const std::string& headers) {
    return talk(server->address(), "GET /p?a=1?b HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
  };
  EXPECT_TRUE(ask("Host: x\r\nOrigin: http://o\r\n").ends_with("<x|a=1?b|http://o>"));
  EXPECT_TRUE(ask("Host: x\r\nHost: y\r\n").ends_with("<|a=1?b|>"));
  EXPECT_TRUE(ask("").ends_with("<|a=1?b|>"));
}

TEST(PageServer, a_port_that_is_taken_is_an_error) {
  const PageServer server = start();
  EXPECT_FALSE(PageServer::start(server.address(), [](const Request&) { return Page(); }));
}

TEST(PageServer, addresses) {
  const Address usual{"127.0.0.1", 9836};
  const auto read = [&](std::string_view text) {
    const auto address = parse_address(text, usual);
    return address ? address->host + " " + std::to_string(address->port) : std::string("refused");
  };
  EXPECT_EQ(read(""), "127.0.0.1 9836");
  EXPECT_EQ(read("80"), "127.0.0.1 80");
  EXPECT_EQ(read(":80"), "0.0.0.0 80");
  EXPECT_EQ(read("localhost:1"), "127.0.0.1 1");
  EXPECT_EQ(read("10.0.0.1"), "10.0.0.1 9836");
  EXPECT_EQ(read("[::1]:7"), "::1 7");
  for (const char* text : {"70000", "x:1", "1.2.3.4:", "1.2.3.4:x", "[::1", "::1:9"}) {
    EXPECT_TRUE(read(text) == "refused" || std::string_view(text) == "::1:9") << text << " " << read(text);
  }
}

}  // namespace
}  // namespace vramfit::http
