#include "http/page_server.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace vramfit::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Tcp = asio::ip::tcp;
using Problem = beast::error_code;

namespace {

// Nobody who keeps a connection open and silent, or sends without end, holds anything for long.
constexpr std::chrono::seconds kPatience{30};
constexpr std::uint32_t kMostHeaderBytes = 16 * 1024;
constexpr std::uint64_t kMostBodyBytes = 16 * 1024;

using Request = beast::http::request<beast::http::string_body>;
using Response = beast::http::response<beast::http::string_body>;

Response respond(const Request& request, const Answer& answer) {
  const bool reads = request.method() == beast::http::verb::get || request.method() == beast::http::verb::head;
  Page page{405, "text/plain; charset=utf-8", "only GET and HEAD\n"};
  if (reads) {
    std::string_view path(request.target().data(), request.target().size());
    path = path.substr(0, path.find('?'));
    try {
      page = answer(path);
    } catch (const std::exception& broken) {
      page = {500, "text/plain; charset=utf-8", fmt::format("internal error: {}\n", broken.what())};
    }
  }
  Response response{static_cast<beast::http::status>(page.status), request.version()};
  response.set(beast::http::field::content_type, page.type);
  response.set(beast::http::field::cache_control, "no-store");
  response.set("X-Content-Type-Options", "nosniff");
  if (!reads) response.set(beast::http::field::allow, "GET, HEAD");
  response.keep_alive(request.keep_alive());
  response.body() = std::move(page.body);
  response.prepare_payload();
  if (request.method() == beast::http::verb::head) response.body().clear();
  return response;
}

// One connection. It lives as long as an operation on it is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, const Answer& answer) : stream_(std::move(socket)), answer_(answer) {}

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(kMostBodyBytes);
    stream_.expires_after(kPatience);
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = shared_from_this()](Problem problem, std::size_t) { self->write(problem); });
  }

 private:
  void write(Problem problem) {
    if (problem) return close();
    response_ = respond(parser_->get(), answer_);
    stream_.expires_after(kPatience);
    beast::http::async_write(stream_, response_, [self = shared_from_this()](Problem failed, std::size_t) {
      if (failed || self->response_.need_eof()) return self->close();
      self->read();
    });
  }

  void close() {
    Problem ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_both, ignored);
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  Response response_;
  const Answer& answer_;
};

}  // namespace

base::Result<Address> parse_address(std::string_view text, const Address& otherwise) {
  Address address = otherwise;
  const auto wrong = [&] {
    return base::fail(base::ErrorCode::kUsage, fmt::format("not an address: \"{}\"", text), "",
                      "a port, or host:port as in 127.0.0.1:9836 or [::1]:9836");
  };
  std::string_view port = text;
  const bool only_port = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!only_port) {
    const std::size_t bracket = text.find(']');
    const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
    std::string_view host = text.substr(0, colon);
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (host.starts_with('[') != host.ends_with(']')) return wrong();
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    if (colon != std::string_view::npos && host.empty()) host = "0.0.0.0";
    if (colon != std::string_view::npos && port.empty()) return wrong();
    if (!host.empty()) address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  }
  if (!port.empty()) {
    const auto [end, problem] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (problem != std::errc{} || end != port.data() + port.size()) return wrong();
  }
  Problem problem;
  asio::ip::make_address(address.host, problem);
  if (problem) return wrong();
  return address;
}

struct PageServer::State {
  explicit State(Answer given) : answer(std::move(given)), acceptor(context) {}

  base::Result<void> listen(const Address& address) {
    Problem problem;
    const Tcp::endpoint endpoint(asio::ip::make_address(address.host, problem), address.port);
    if (!problem) acceptor.open(endpoint.protocol(), problem);
    if (!problem) acceptor.set_option(asio::socket_base::reuse_address(true), problem);
    if (!problem) acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      return base::fail(base::ErrorCode::kSystem,
                        fmt::format("cannot listen on {}:{}: {}", address.host, address.port, problem.message()), "",
                        "another port");
    }
    return {};
  }

  void accept() {
    acceptor.async_accept([this](Problem problem, Tcp::socket socket) {
      if (problem == asio::error::operation_aborted) return;
      if (!problem) std::make_shared<Connection>(std::move(socket), answer)->read();
      accept();
    });
  }

  Answer answer;
  asio::io_context context{1};
  Tcp::acceptor acceptor;
  std::thread thread;
};

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageServer::PageServer(PageServer&&) noexcept = default;

PageServer::~PageServer() {
  if (!state_) return;
  state_->context.stop();
  if (state_->thread.joinable()) state_->thread.join();
}

base::Result<PageServer> PageServer::start(const Address& address, Answer answer) {
  auto state = std::make_unique<State>(std::move(answer));
  if (auto listening = state->listen(address); !listening) return std::unexpected(listening.error());
  state->accept();
  state->thread = std::thread([raw = state.get()] { raw->context.run(); });
  return PageServer(std::move(state));
}

Address PageServer::address() const {
  Problem ignored;
  const Tcp::endpoint endpoint = state_->acceptor.local_endpoint(ignored);
  return {endpoint.address().to_string(), endpoint.port()};
}

}  // namespace vramfit::http
