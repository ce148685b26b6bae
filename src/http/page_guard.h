// Who may read a page of this machine. A server on loopback is still reached by any web page that the user's browser
// has open: by a name that is made to mean 127.0.0.1 (DNS rebinding), and by requests from elsewhere.
#ifndef VRAMFIT_HTTP_PAGE_GUARD_H
#define VRAMFIT_HTTP_PAGE_GUARD_H

#include <optional>
#include <string>
#include <vector>

#include "http/page_server.h"

namespace vramfit::http {

struct GuardRules {
  bool any_address = false;        // the server is meant to be reached from outside: numeric addresses are taken
  std::vector<std::string> names;  // host names that are taken beside "localhost", in lower case
  // Whatever name a program asks by is taken, and of a browser alone the Host is looked at: no page leads a program
  // here.
  bool programs_by_any_name = false;
};

// A server that other machines reach is asked for by its numbers, and by the name that this machine gives itself.
GuardRules rules_for_others();

// The refusal, or nothing. The Host must, unless the rules take more, be a loopback address or "localhost", with any
// port (a tunnel changes it); names can be made to lead here, numbers cannot. An Origin must be the Host's own. What
// another site's page asks for is refused unless the user goes there by a link.
std::optional<Page> refuse_stranger(const Request& request, const GuardRules& rules);

// Thirty-two hexadecimal digits from the system's source of chance.
std::string make_token();

struct Entry {
  std::optional<Page> refused;
  std::string cookie;  // to be set: whoever came with the token needs it once
};
// Works as Jupyter's token does: the address that is printed has "?token=...", and the browser then keeps it as a
// cookie, which no script reads and no other site's page sends. An empty token lets everybody in.
Entry check_token(const Request& request, const std::string& token);

}  // namespace vramfit::http

#endif
