#include "http/page_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cctype>

namespace vramfit::http {

namespace {

// "localhost" of "localhost:9837", "::1" of "[::1]:9837"; nothing for what is no host.
std::optional<std::string> name_of(std::string_view host) {
  const bool is_v6 = host.starts_with('[');
  const std::size_t bracket = host.find(']');
  if (is_v6 && bracket == std::string_view::npos) return std::nullopt;
  std::string_view name = is_v6 ? host.substr(1, bracket - 1) : host.substr(0, host.find(':'));
  const std::string_view port = is_v6 ? host.substr(bracket + 1) : host.substr(name.size());
  if (!port.empty() && (port.front() != ':' || port.find_first_not_of("0123456789", 1) != std::string_view::npos)) {
    return std::nullopt;
  }
  if (name.empty()) return std::nullopt;
  std::string low(name);
  std::ranges::transform(low, low.begin(), [](unsigned char one) { return static_cast<char>(std::tolower(one)); });
  return low;
}

bool is_taken(std::string_view host, const GuardRules& rules) {
  const auto name = name_of(host);
  if (!name) return false;
  if (*name == "localhost" || std::ranges::find(rules.names, *name) != rules.names.end()) return true;
  boost::system::error_code problem;
  const auto address = boost::asio::ip::make_address(*name, problem);
  return !problem && (rules.any_address || address.is_loopback());
}

Page refusal(std::string why) { return {403, "text/plain; charset=utf-8", std::move(why) + "\n", {}}; }

}  // namespace

std::optional<Page> refuse_stranger(const Request& request, const GuardRules& rules) {
  if (!is_taken(request.host, rules)) {
    return refusal("refused: this page is asked for by the address it is on, as http://127.0.0.1");
  }
  if (!request.origin.empty() && request.origin != fmt::format("http://{}", request.host)) {
    return refusal("refused: another site's page asked");
  }
  const bool is_elsewhere = request.fetch_site == "cross-site" || request.fetch_site == "same-site";
  if (is_elsewhere && request.fetch_mode != "navigate") return refusal("refused: another site's page asked");
  return std::nullopt;
}

}  // namespace vramfit::http
