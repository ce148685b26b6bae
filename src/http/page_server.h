// A small HTTP server for pages that only tell: GET and HEAD, answers made by one function. It has a thread of its own.
#ifndef VRAMFIT_HTTP_PAGE_SERVER_H
#define VRAMFIT_HTTP_PAGE_SERVER_H

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
};

// By the path, without a query. Called on the server's thread.
using Answer = std::function<Page(std::string_view path)>;

struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free one
};
// "9836", "host:9836", "[::1]:9836", ":9836" (all interfaces); what is missing stays as in `otherwise`.
base::Result<Address> parse_address(std::string_view text, const Address& otherwise);

class PageServer {
 public:
  static base::Result<PageServer> start(const Address& address, Answer answer);
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
