#include "http/page_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
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
  auto server = PageServer::start({}, [](std::string_view path) {
    if (path == "/broken") throw std::runtime_error("broken");
    return Page{.body = "page " + std::string(path) + "\n"};
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
  EXPECT_EQ(talk(server.address(), "\x16\x03\x01 nonsense\r\n\r\n"), "");
  EXPECT_EQ(talk(server.address(), "GET / HTTP/1.1\r\nX: " + std::string(40'000, 'a') + "\r\n\r\n"), "");
  EXPECT_TRUE(get(server.address(), "/broken").starts_with("HTTP/1.1 500"));
  EXPECT_TRUE(get(server.address(), "/ok").starts_with("HTTP/1.1 200"));
}

TEST(PageServer, silent_connections_hold_nobody_up) {
  const PageServer server = start();
  std::vector<base::FileDescriptor> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(server.address()));
  EXPECT_TRUE(get(server.address(), "/ok").starts_with("HTTP/1.1 200"));
}

TEST(PageServer, a_port_that_is_taken_is_an_error) {
  const PageServer server = start();
  EXPECT_FALSE(PageServer::start(server.address(), [](std::string_view) { return Page(); }));
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
