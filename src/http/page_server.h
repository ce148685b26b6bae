// A small HTTP server for pages that only tell: GET and HEAD, answers made by one function, on threads of its own.
#ifndef VRAMFIT_HTTP_PAGE_SERVER_H
#define VRAMFIT_HTTP_PAGE_SERVER_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace vramfit::http {

struct Page {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::string policy = {};  // Content-Security-Policy; empty: that of a page which loads nothing
  std::string cookie = {};  // Set-Cookie; empty: none
};

// What was asked for. Views end with the call.
struct Request {
  std::string_view path, query;  // as sent, percent signs and all; the query without its '?'
  // Headers; empty: not sent, or two hosts.
  std::string_view host, origin, fetch_site, fetch_mode, cookie;
  std::string_view language;  // Accept-Language
};

// Called on the server's threads; with more than one, at the same time.
using Answer = std::function<Page(const Request& request)>;

struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
};
// "9836", "host:9836", "[::1]:9836", ":9836" (all interfaces); what is missing stays as in `otherwise`.
base::Result<Address> parse_address(std::string_view text, const Address& otherwise);
std::string to_string(const Address& address);  // "127.0.0.1:9836", "[::1]:9836"
bool is_loopback(const Address& address);

struct ServerLimits {
  int threads = 1;
  // How many may be open at once. One more ends the one that has been waiting for a request longest; where all are at
  // work it is closed.
  std::size_t connections = 256;
  std::chrono::milliseconds timeout{30'000};  // for a whole request, and for a whole answer
};

class PageServer {
 public:
  static base::Result<PageServer> start(const Address& address, Answer answer, const ServerLimits& limits = {});
  PageServer(PageServer&&) noexcept;
  PageServer& operator=(PageServer&&) = delete;
  ~PageServer();  // ends all connections

  Address address() const;  // with the port that was taken

 private:
  struct State;
  explicit PageServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace vramfit::http

#endif
