#include "http/page_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/parse_number.h"

namespace vramfit::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Tcp = asio::ip::tcp;
using Problem = beast::error_code;

namespace {

constexpr std::uint32_t kMostHeaderBytes = 16 * 1024;
constexpr std::uint64_t kMostBodyBytes = 16 * 1024;
constexpr std::chrono::milliseconds kBreak{100};  // after the system refused a connection (no descriptors left)
constexpr std::string_view kPlain = "text/plain; charset=utf-8";
// Nothing is loaded, run or framed.
constexpr std::string_view kClosedPolicy =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

using Parsed = beast::http::request<beast::http::string_body>;
using Response = beast::http::response<beast::http::string_body>;

std::string_view view_of(beast::string_view text) { return {text.data(), text.size()}; }

Page make_page(const Parsed& parsed, const Answer& answer) {
  const std::string_view target = view_of(parsed.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  const Request request{
      .path = target.substr(0, mark),
      .query = target.substr(std::min(mark + 1, target.size())),
      .host = parsed.count(beast::http::field::host) == 1 ? view_of(parsed[beast::http::field::host]) : "",
      .origin = view_of(parsed[beast::http::field::origin]),
      .fetch_site = view_of(parsed["Sec-Fetch-Site"]),
      .fetch_mode = view_of(parsed["Sec-Fetch-Mode"]),
      .cookie = view_of(parsed[beast::http::field::cookie]),
      .language = view_of(parsed[beast::http::field::accept_language])};
  try {
    return answer(request);
  } catch (const std::exception& broken) {
    return {500, std::string(kPlain), fmt::format("internal error: {}\n", broken.what()), {}, {}};
  }
}

void set_headers(Response& response, const Page& page) {
  response.set(beast::http::field::content_type, page.type);
  response.set(beast::http::field::cache_control, "no-store");
  if (!page.cookie.empty()) response.set(beast::http::field::set_cookie, page.cookie);
  response.set("X-Content-Type-Options", "nosniff");
  response.set("X-Frame-Options", "DENY");
  response.set("Referrer-Policy", "no-referrer");
  response.set("Cross-Origin-Resource-Policy", "same-origin");
  response.set("Cross-Origin-Opener-Policy", "same-origin");
  response.set("Content-Security-Policy", page.policy.empty() ? std::string(kClosedPolicy) : page.policy);
}

Response respond(const Parsed& parsed, const Answer& answer) {
  const bool reads = parsed.method() == beast::http::verb::get || parsed.method() == beast::http::verb::head;
  Page page = reads ? make_page(parsed, answer) : Page{405, std::string(kPlain), "only GET and HEAD\n", {}, {}};
  Response response{static_cast<beast::http::status>(page.status), parsed.version()};
  set_headers(response, page);
  if (!reads) response.set(beast::http::field::allow, "GET, HEAD");
  response.keep_alive(parsed.keep_alive());
  response.body() = std::move(page.body);
  response.prepare_payload();
  if (parsed.method() == beast::http::verb::head) response.body().clear();
  return response;
}

// The answer to what is no request, where there is one to give.
std::optional<Response> respond_to(Problem problem) {
  using beast::http::status;
  status code = status::bad_request;
  if (problem == beast::http::error::header_limit || problem == beast::http::error::buffer_overflow) {
    code = status::request_header_fields_too_large;
  } else if (problem == beast::http::error::body_limit) {
    code = status::payload_too_large;
  } else if (problem == beast::error::timeout) {
    return std::nullopt;
  } else if (problem.category() != beast::http::make_error_code(beast::http::error::bad_method).category() ||
             problem == beast::http::error::end_of_stream || problem == beast::http::error::partial_message) {
    return std::nullopt;  // they went away
  }
  Response response{code, 11};
  const Page page{.body = fmt::format("{}\n", view_of(beast::http::obsolete_reason(code)))};
  set_headers(response, page);
  response.keep_alive(false);
  response.body() = page.body;
  response.prepare_payload();
  return response;
}

class Connection;

// What connections share with the server that made them.
struct Shared {
  Answer answer;
  ServerLimits limits;
  std::atomic<std::size_t> open = 0;
  std::mutex lock;
  std::list<std::weak_ptr<Connection>> waiting;  // for a request, the longest first

  // Makes room for one more, where a connection does nothing. False: all are at work.
  bool end_one_that_waits();
};

// One connection. It lives as long as an operation on it is under way.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) { ++shared_.open; }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { --shared_.open; }
  std::atomic<bool> was_ended = false;

  // The time for a request is one for all of it: whoever sends a byte now and then gains nothing.
  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeaderBytes);
    parser_->body_limit(kMostBodyBytes);
    stream_.expires_after(shared_.limits.timeout);
    {
      const std::lock_guard held(shared_.lock);
      place_ = shared_.waiting.insert(shared_.waiting.end(), weak_from_this());
    }
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = shared_from_this()](Problem problem, std::size_t) { self->write(problem); });
  }

  // May be called from any thread.
  void end() {
    asio::post(stream_.get_executor(), [self = shared_from_this()] { self->stream_.cancel(); });
  }

 private:
  void write(Problem problem) {
    {
      const std::lock_guard held(shared_.lock);
      if (place_) shared_.waiting.erase(*place_);
      place_.reset();
    }
    if (problem) {
      auto refusal = respond_to(problem);
      if (!refusal) return close();
      response_ = std::move(*refusal);
    } else {
      response_ = respond(parser_->get(), shared_.answer);
    }
    stream_.expires_after(shared_.limits.timeout);
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
  beast::flat_buffer buffer_{kMostHeaderBytes + kMostBodyBytes};
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  Response response_;
  Shared& shared_;
  std::optional<std::list<std::weak_ptr<Connection>>::iterator> place_;  // among those that wait
};

bool Shared::end_one_that_waits() {
  const std::lock_guard held(lock);
  for (const auto& one : waiting) {
    const auto connection = one.lock();
    if (!connection || connection->was_ended.exchange(true)) continue;
    connection->end();
    return true;
  }
  return false;
}

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
    const auto number = base::parse_number<decltype(address.port)>(port);
    if (!number) return wrong();
    address.port = *number;
  }
  Problem problem;
  asio::ip::make_address(address.host, problem);
  if (problem) return wrong();
  return address;
}

std::string to_string(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", address.port);
}

bool is_loopback(const Address& address) {
  Problem problem;
  const auto parsed = asio::ip::make_address(address.host, problem);
  return !problem && parsed.is_loopback();
}

struct PageServer::State {
  State(Answer answer, const ServerLimits& limits) : shared{std::move(answer), limits}, acceptor(context) {}

  base::Result<void> listen(const Address& address) {
    Problem problem;
    const Tcp::endpoint endpoint(asio::ip::make_address(address.host, problem), address.port);
    if (!problem) acceptor.open(endpoint.protocol(), problem);
    if (!problem) acceptor.set_option(asio::socket_base::reuse_address(true), problem);
    if (!problem) acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
    if (problem) {
      return base::fail(base::ErrorCode::kSystem,
                        fmt::format("cannot listen on {}: {}", to_string(address), problem.message()), "",
                        "another port");
    }
    return {};
  }

  void accept() {
    acceptor.async_accept(asio::make_strand(context), [this](Problem problem, Tcp::socket socket) {
      if (problem == asio::error::operation_aborted) return;
      if (problem) return pause();
      if (shared.open < shared.limits.connections || shared.end_one_that_waits()) {
        std::make_shared<Connection>(std::move(socket), shared)->read();
      }
      accept();
    });
  }

  void pause() {
    timer.expires_after(kBreak);
    timer.async_wait([this](Problem problem) {
      if (!problem) accept();
    });
  }

  Shared shared;  // goes after the connections, which the context holds
  asio::io_context context;
  Tcp::acceptor acceptor;
  asio::steady_timer timer{context};
  std::vector<std::thread> threads;
};

PageServer::PageServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PageServer::PageServer(PageServer&&) noexcept = default;

PageServer::~PageServer() {
  if (!state_) return;
  state_->context.stop();
  for (std::thread& thread : state_->threads) thread.join();
}

base::Result<PageServer> PageServer::start(const Address& address, Answer answer, const ServerLimits& limits) {
  auto state = std::make_unique<State>(std::move(answer), limits);
  if (auto listening = state->listen(address); !listening) return std::unexpected(listening.error());
  state->accept();
  for (int i = 0; i < limits.threads; ++i) {
    state->threads.emplace_back([raw = state.get()] { raw->context.run(); });
  }
  return PageServer(std::move(state));
}

Address PageServer::address() const {
  Problem ignored;
  const Tcp::endpoint endpoint = state_->acceptor.local_endpoint(ignored);
  return {endpoint.address().to_string(), endpoint.port()};
}

}  // namespace vramfit::http
