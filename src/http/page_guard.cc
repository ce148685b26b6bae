#include "http/page_guard.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>
#include <random>

#include "base/letters.h"

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
  return base::lowered(name);
}

bool is_taken(std::string_view host, const GuardRules& rules) {
  const auto name = name_of(host);
  if (!name) return false;
  if (*name == "localhost" || std::ranges::find(rules.names, *name) != rules.names.end()) return true;
  boost::system::error_code problem;
  const auto address = boost::asio::ip::make_address(*name, problem);
  return !problem && (rules.any_address || address.is_loopback());
}

// Every browser says its user's languages, and whatever a page makes it ask has them; scrapers have none.
bool is_of_browser(const Request& request) {
  return !request.language.empty() || !request.origin.empty() || !request.fetch_site.empty() ||
         !request.fetch_mode.empty();
}

Page refusal(std::string why) { return {403, "text/plain; charset=utf-8", std::move(why) + "\n", {}, {}}; }

// Takes as long whatever differs, so that nobody learns it letter by letter.
bool is_same(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char one = i < given.size() ? given[i] : '\0';
    difference |= static_cast<unsigned char>(one) ^ static_cast<unsigned char>(token[i]);
  }
  return difference == 0;
}

// The value of one name in "a=1; b=2", or in "a=1&b=2".
std::string_view value_of(std::string_view text, std::string_view name, char separator) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('=')) return part.substr(name.size() + 1);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

constexpr std::string_view kCookie = "vramfit-token";

}  // namespace

GuardRules rules_for_others() {
  std::array<char, 256> name{};
  GuardRules rules{.any_address = true};
  if (::gethostname(name.data(), name.size() - 1) == 0) rules.names.push_back(base::lowered(name.data()));
  return rules;
}

std::string make_token() {
  std::random_device random;
  std::string token;
  while (token.size() < 32) token += fmt::format("{:08x}", static_cast<std::uint32_t>(random()));
  return token;
}

Entry check_token(const Request& request, const std::string& token) {
  if (token.empty() || is_same(value_of(request.cookie, kCookie, ';'), token)) return {};
  if (is_same(value_of(request.query, "token", '&'), token)) {
    return {.refused = {}, .cookie = fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kCookie, token)};
  }
  return {.refused = refusal("refused: this page wants the token of the address that `vramfit serve` printed"),
          .cookie = ""};
}

std::optional<Page> refuse_stranger(const Request& request, const GuardRules& rules) {
  const bool may_have_any_name = rules.programs_by_any_name && !is_of_browser(request);
  if (!may_have_any_name && !is_taken(request.host, rules)) {
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
