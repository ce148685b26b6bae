// vramfit serve: the history as pages for a browser of this machine.
#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/interrupt.h"
#include "base/subprocess.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "history/history.h"
#include "http/history_site.h"
#include "http/page_guard.h"
#include "http/page_server.h"

namespace vramfit::cli {

namespace {

using base::Result;

constexpr std::uint16_t kPort = 9837;
constexpr int kThreads = 3;  // a large report holds nobody else up
constexpr std::chrono::milliseconds kTimeout{10'000};

struct ServeOptions {
  std::uint16_t port = kPort;
  std::string address = "127.0.0.1";
  bool for_anyone = false;
  bool token = false, no_token = false;
  bool open = false;
};

Result<http::Address> choose_address(const ServeOptions& options) {
  auto address = http::parse_address(options.address, {.port = options.port});
  if (!address) {
    // "::1" as people write it
    address = http::parse_address("[" + options.address + "]", {.port = options.port});
  }
  if (!address) {
    return base::fail(base::ErrorCode::kUsage, fmt::format("not an address: \"{}\"", options.address), "--address",
                      "127.0.0.1, ::1, or with --anyone another of this machine's");
  }
  address->port = options.port;
  if (!http::is_loopback(*address) && !options.for_anyone) {
    return base::fail(base::ErrorCode::kUsage,
                      fmt::format("{} is reached from other machines: who has the page's address could read commands, "
                                  "paths, source lines and notes of all runs there",
                                  address->host),
                      "--address", "--anyone if that is meant; better: ssh -L 9837:127.0.0.1:9837 this-machine");
  }
  return address;
}

Result<http::PageServer> start(const ServeOptions& options, const http::Address& address,
                               const std::shared_ptr<http::HistorySite>& site) {
  auto server = http::PageServer::start(address, [site](const http::Request& request) { return site->answer(request); },
                                        {.threads = kThreads, .timeout = kTimeout});
  if (!server) {
    base::Error error = server.error();
    error.remedy =
        fmt::format("--port 0 takes a free one; it may be another vramfit serve: http://{}", to_string(address));
    if (options.port < 1024 && options.port != 0) error.remedy = "a port from 1024 on, or --port 0 for a free one";
    return std::unexpected(error);
  }
  return server;
}

// Best effort: a machine without a desktop has nothing to open it with.
void open_browser(const std::string& url) {
  base::Launch launch;
  launch.argv = {"xdg-open", url};
  launch.environment = base::current_environment();
  launch.output = "/dev/null";
  launch.timeout_seconds = 10;
  if (!base::find_program("xdg-open", launch.environment)) {
    talk("vramfit: there is no xdg-open here; open the address yourself\n");
    return;
  }
  static_cast<void>(base::run_to_end(launch, [](double) {}));  // the address stands on the screen
}

// Whether somebody else's programs run here: they reach a page on loopback as the user does. Users that are no people
// (daemons) have numbers below 1000; 65534 is nobody, whom daemons run as that are to have no rights: docs/serve.md.
bool others_share_the_machine() {
  constexpr uid_t kFirstPerson = 1000, kNobody = 65534;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", problem)) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (!std::isdigit(static_cast<unsigned char>(entry.path().filename().string().front()))) continue;
    if (status.st_uid >= kFirstPerson && status.st_uid != kNobody && status.st_uid != ::getuid()) return true;
  }
  return static_cast<bool>(problem);  // where nobody can tell, others may be there
}

Result<void> act(const ServeOptions& options) {
  const auto address = choose_address(options);
  if (!address) return std::unexpected(address.error());
  // What is wrong with the history is better told now than in the browser.
  if (const auto history = history::History::open(); !history) return std::unexpected(history.error());
  const bool is_loopback = http::is_loopback(*address);
  const bool asks = options.token || (!options.no_token && (!is_loopback || others_share_the_machine()));
  const std::string token = asks ? http::make_token() : "";
  const auto site = std::make_shared<http::HistorySite>(
      http::SiteOptions{.version = VRAMFIT_VERSION,
                        .guard = is_loopback ? http::GuardRules{} : http::rules_for_others(),
                        .token = token});
  const base::InterruptScope scope;
  auto server = start(options, *address, site);
  if (!server) return std::unexpected(server.error());
  const std::string url = fmt::format("http://{}/{}{}", to_string(server->address()), asks ? "?token=" : "", token);
  if (!is_loopback && !asks) talk("vramfit: warning: whoever reaches this address can read all runs\n");
  talk(fmt::format("vramfit: the history is on {}   (Ctrl-C ends it)\n", url));
  if (options.open) open_browser(url);
  while (base::take_interrupt() == 0) {
    constexpr timespec kPause{0, 200'000'000};
    ::nanosleep(&kPause, nullptr);  // a signal ends it early
  }
  return {};
}

}  // namespace

Verb add_serve_verb(const Parser& parser) {
  auto options = std::make_shared<ServeOptions>();
  const Parser verb = parser.add_verb("serve", "Show the history in a browser of this machine, live; read-only");
  verb.add_option("--port", options->port, "Port (9837); 0 is any free one");
  verb.add_flag("--open", options->open, "Open it in the browser");
  verb.add_option("--address", options->address, "Address to listen on (127.0.0.1)");
  verb.add_flag("--anyone", options->for_anyone,
                "Let --address be one that other machines reach: whoever has the printed address may read");
  const Option token = verb.add_flag(
      "--token", options->token, "Only who has the printed address may read (default where others use the machine)");
  verb.add_flag("--no-token", options->no_token, "Who reaches it may read it").excludes(token);
  verb.examples({"vramfit serve --open", "vramfit serve --port 0"});
  return {verb, [options](const Command&) {
            const auto done = act(*options);
            return done ? 0 : report_error(done.error());
          }};
}

}  // namespace vramfit::cli
