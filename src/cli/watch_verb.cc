// vramfit watch: the machine's cards, live or recorded; or what one command takes of them.
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/json_output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "http/page_guard.h"
#include "http/page_server.h"
#include "report/watch_csv.h"
#include "report/watch_json.h"
#include "report/watch_metrics.h"
#include "report/watch_peaks.h"
#include "tui/terminal_screen.h"
#include "tui/watch_draw.h"
#include "tui/watch_help.h"
#include "tui/watch_loop.h"
#include "watch/book.h"
#include "watch/command.h"
#include "watch/watch.h"

namespace vramfit::cli {

namespace {

constexpr std::uint16_t kMetricsPort = 9836;
constexpr std::int64_t kQuickestNs = 10'000'000;

struct WatchWords {
  bool once = false, no_color = false, no_unicode = false, no_virtual = false, tree = false, per_process = false;
  bool headless = false;
  std::string json, csv, record, replay, interval, prometheus, sort = "memory", filter, record_limit = "64MiB";
  std::int64_t count = 0;
  int record_keep = 4;
  bool wants_prometheus = false;
  std::vector<std::string> alerts, cards;
  std::string exec;
};

std::unexpected<base::Error> misused(std::string what, std::string where, std::string remedy = {}) {
  return base::fail(base::ErrorCode::kUsage, std::move(what), std::move(where), std::move(remedy));
}

// A stream of samples in a file or on stdout.
class Sink {
 public:
  static base::Result<std::shared_ptr<Sink>> open(const std::string& name) {
    auto sink = std::make_shared<Sink>();
    sink->name_ = name;
    sink->file_ = name == "-" ? stdout : std::fopen(name.c_str(), "we");
    if (sink->file_ == nullptr) return base::fail_errno("cannot write the file", name);
    return sink;
  }
  ~Sink() {
    if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  }
  base::Result<void> write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) return {};
    return base::fail_errno("cannot write the samples", name_);
  }

 private:
  std::string name_;
  std::FILE* file_ = nullptr;
};

// The latest sample as a page of metrics. The page is made when it is asked for.
class Metrics {
 public:
  explicit Metrics(bool processes) : options_{processes} {}
  void set(const model::MachineSample& sample) {
    const std::lock_guard guard(lock_);
    latest_ = sample;
  }
  http::Page page(std::string_view path) {
    if (path == "/")
      return {200, "text/html; charset=utf-8", "<a href=\"/metrics\">metrics</a> of vramfit watch\n", {}};
    if (path != "/metrics") return {404, "text/plain; charset=utf-8", "only /metrics is here\n", {}};
    const std::lock_guard guard(lock_);
    if (!latest_) return {503, "text/plain; charset=utf-8", "no sample yet\n", {}};
    return {200, "text/plain; version=0.0.4; charset=utf-8", report::machine_to_metrics(*latest_, options_), {}};
  }

 private:
  report::MetricsOptions options_;
  std::mutex lock_;
  std::optional<model::MachineSample> latest_;
};

// Everything that was asked for beside the screen.
struct Outputs {
  watch::WatchOptions options;
  std::shared_ptr<Metrics> metrics;  // outlives the server
  std::optional<http::PageServer> server;
  std::string notes;
};

base::Result<void> add_files(const WatchWords& words, Outputs& outputs) {
  if (!words.csv.empty()) {
    auto sink = Sink::open(words.csv);
    if (!sink) return std::unexpected(sink.error());
    if (auto written = (*sink)->write(report::csv_heading()); !written) return written;
    outputs.options.sinks.push_back(
        [sink = *sink](const auto& one) { return sink->write(report::machine_to_csv(one)); });
  }
  if (!words.json.empty() && !words.once) {
    auto sink = Sink::open(words.json);
    if (!sink) return std::unexpected(sink.error());
    outputs.options.sinks.push_back(
        [sink = *sink](const auto& one) { return sink->write(report::machine_to_json_line(one, VRAMFIT_VERSION)); });
  }
  return {};
}

base::Result<void> add_recorder(const WatchWords& words, Outputs& outputs) {
  if (words.record.empty()) return {};
  const auto limit = base::parse_bytes(words.record_limit);
  if (!limit) return std::unexpected(limit.error());
  auto recorder = watch::WatchRecorder::open(words.record, {.limit = *limit, .keep = words.record_keep});
  if (!recorder) return std::unexpected(recorder.error());
  outputs.options.recorder.emplace(std::move(*recorder));
  outputs.notes = "recording";
  return {};
}

base::Result<void> add_metrics(const WatchWords& words, Outputs& outputs) {
  if (!words.wants_prometheus) return {};
  const auto address = http::parse_address(words.prometheus, {.port = kMetricsPort});
  if (!address) return std::unexpected(address.error());
  outputs.metrics = std::make_shared<Metrics>(words.per_process);
  // A browser may be led here by any page. Scrapers on other machines ask by whatever name their network has for this
  // one.
  http::GuardRules rules;
  if (!http::is_loopback(*address)) {
    rules = http::rules_for_others();
    rules.programs_by_any_name = true;
  }
  auto server = http::PageServer::start(*address, [page = outputs.metrics, rules](const http::Request& request) {
    if (auto refused = http::refuse_stranger(request, rules)) return std::move(*refused);
    return page->page(request.path);
  });
  if (!server) return std::unexpected(server.error());
  outputs.server.emplace(std::move(*server));
  const std::string place = to_string(outputs.server->address());
  if (outputs.notes.empty()) outputs.notes = "metrics on " + place;
  talk(fmt::format("vramfit: metrics on http://{}/metrics\n", place));
  outputs.options.sinks.push_back([metrics = outputs.metrics](const auto& one) {
    metrics->set(one);
    return base::Result<void>();
  });
  return {};
}

base::Result<Outputs> build_outputs(const WatchWords& words) {
  Outputs outputs;
  for (const std::string& text : words.alerts) {
    auto rule = watch::parse_alert(text);
    if (!rule) return std::unexpected(rule.error());
    outputs.options.alerts.push_back(std::move(*rule));
  }
  outputs.options.alert_command = words.exec;
  for (const auto add : {add_files, add_recorder, add_metrics}) {
    if (auto added = add(words, outputs); !added) return std::unexpected(added.error());
  }
  return outputs;
}

base::Result<std::int64_t> read_interval(const WatchWords& words, std::int64_t otherwise) {
  if (words.interval.empty()) return otherwise;
  auto interval = watch::parse_duration(words.interval);
  if (!interval) return interval;
  if (*interval < kQuickestNs) return misused("the shortest interval is 10ms", "--interval");
  return interval;
}

bool wants_unicode(const WatchWords& words) { return !words.no_unicode && shows_utf8(); }

tui::WatchState build_state(const WatchWords& words) {
  tui::WatchState state{.tree = words.tree, .filter = words.filter, .cards = words.cards};
  for (const auto order : {tui::SortBy::kMemory, tui::SortBy::kCard, tui::SortBy::kPid, tui::SortBy::kUser,
                           tui::SortBy::kStarted, tui::SortBy::kName}) {
    if (tui::to_string(order) == words.sort) state.sort = order;
  }
  return state;
}

// What is said of the cards that were asked for; others may be lost.
int exit_code_of(const model::MachineSample& sample, const tui::CardChoice& choice) {
  const bool all_answer = std::ranges::all_of(
      sample.cards, [&](const auto& card) { return card.problem.empty() || !tui::is_chosen(card, sample, choice); });
  return !sample.cards.empty() && all_answer && tui::missing_cards(sample, choice).empty() ? 0 : 1;
}

base::Result<int> show_once(const WatchWords& words, watch::Watch& watch) {
  auto tick = watch.tick();
  if (!tick) return std::unexpected(tick.error());
  if (!*tick) return misused("the recording is empty", words.replay);
  while (!words.replay.empty()) {  // of a recording its last sample
    auto next = watch.tick();
    if (!next) return std::unexpected(next.error());
    if (!*next) break;
    *tick = std::move(*next);
  }
  const model::MachineSample& sample = (*tick)->sample;
  if (!words.json.empty()) {
    const std::string json = report::machine_to_json_line(sample, VRAMFIT_VERSION);
    if (words.json == "-") {
      print(json);
      return exit_code_of(sample, words.cards);
    }
    if (auto written = base::write_file(words.json, json); !written) return std::unexpected(written.error());
  }
  if (words.csv == "-") return exit_code_of(sample, words.cards);
  std::vector<std::string> alerts;
  for (const auto& alert : (*tick)->alerts) alerts.push_back(alert.text);
  tui::WatchState state = build_state(words);
  const auto view = tui::build_watch_view(sample, state, alerts);
  const tui::Look look{.unicode = wants_unicode(words), .keys = false};
  const auto grid = tui::draw_all(view, look, tui::terminal_columns(STDOUT_FILENO, 80));
  const bool is_coloured = !words.no_color && wants_color(STDOUT_FILENO);
  const auto lines = grid.to_lines();
  std::string text;
  for (int row = 0; row < std::ssize(lines); ++row) {
    text += (is_coloured ? grid.to_coloured_line(row) : lines[static_cast<std::size_t>(row)]) + "\n";
  }
  print_page(text);
  return exit_code_of(sample, words.cards);
}

void wait_until(std::int64_t due_ns) {
  const timespec until{due_ns / 1'000'000'000, due_ns % 1'000'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

// No screen: files, metrics and alerts only. New alerts and problems are told on stderr.
base::Result<int> watch_quietly(const WatchWords& words, watch::Watch& watch, std::int64_t interval_ns) {
  std::int64_t due = base::steady_clock().now_ns(), samples = 0;
  std::string told;
  while (base::take_interrupt() == 0) {
    auto tick = watch.tick();
    if (!tick) return std::unexpected(tick.error());
    if (!*tick) return 0;
    for (const auto& alert : (*tick)->alerts) {
      if (alert.is_new) talk(fmt::format("vramfit: alert: {}\n", alert.text));
    }
    std::string problem;
    for (const auto& one : (*tick)->problems) problem += fmt::format("vramfit: warning: {}\n", one);
    if (problem != told) talk(told = problem);
    if (words.count > 0 && ++samples >= words.count) return 0;
    if (!words.replay.empty()) continue;  // a recording is read as fast as it goes
    due = std::max(due + interval_ns, base::steady_clock().now_ns());
    wait_until(due);
  }
  return 0;
}

base::Result<int> watch_command(const WatchWords& words, const Command& command) {
  const auto interval = read_interval(words, kQuickestNs);
  if (!interval) return std::unexpected(interval.error());
  JsonOutput output(words.json);
  base::InterruptScope scope;
  const auto peaks = watch::watch_command({.command = command, .interval_ns = *interval});
  if (!peaks) return std::unexpected(peaks.error());
  talk("\n" + report::peaks_to_text(*peaks));
  if (auto written = output.write(report::peaks_to_json(*peaks, VRAMFIT_VERSION)); !written) {
    return std::unexpected(written.error());
  }
  return peaks->exit_code;
}

base::Result<std::unique_ptr<watch::MachineSource>> open_source(const WatchWords& words, std::int64_t interval_ns) {
  if (!words.replay.empty()) return watch::open_watch_recording(words.replay);
  return watch::open_machine({.interval_ns = interval_ns, .sessions = !words.no_virtual});
}

base::Result<int> watch_machine(const WatchWords& words, watch::Watch& watch, std::int64_t interval_ns,
                                const std::string& notes) {
  const bool writes = !words.csv.empty() || !words.json.empty() || !words.record.empty() || words.wants_prometheus ||
                      !words.alerts.empty();
  if (words.once) return show_once(words, watch);
  const bool has_terminal = ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  const bool takes_stdout = words.json == "-" || words.csv == "-";
  if (words.headless || takes_stdout || !has_terminal) {
    // Piped into a file with nothing else to do, one look is what is meant.
    return writes || words.headless ? watch_quietly(words, watch, interval_ns) : show_once(words, watch);
  }
  auto screen = tui::TerminalScreen::open(!words.no_color && wants_color(STDOUT_FILENO));
  if (!screen) return std::unexpected(screen.error());
  const tui::LoopOptions options{.interval_ns = interval_ns,
                                 .most_samples = words.count,
                                 .state = build_state(words),
                                 .look = {.unicode = wants_unicode(words),
                                          .interval_seconds = static_cast<double>(interval_ns) * 1e-9,
                                          .notes = notes}};
  if (auto done = tui::watch_on_screen(watch, *screen, options); !done) return std::unexpected(done.error());
  return 0;
}

base::Result<int> act(const WatchWords& words, const Command& command) {
  if (!command.empty()) return watch_command(words, command);
  if (words.json == "-" && words.csv == "-") return misused("stdout can be JSON or CSV, not both", "--json, --csv");
  const auto interval = read_interval(words, 1'000'000'000);
  if (!interval) return std::unexpected(interval.error());
  auto source = open_source(words, *interval);
  if (!source) return std::unexpected(source.error());
  auto outputs = build_outputs(words);
  if (!outputs) return std::unexpected(outputs.error());
  // A recording is a numbered run of the history; one that is only shown again was noted when it was made.
  TerminalProgress progress(stderr_is_terminal(), base::steady_clock());
  std::shared_ptr<watch::WatchBook> book;
  if (!words.record.empty()) {
    book = std::make_shared<watch::WatchBook>(watch::WatchBook::begin(words.record, VRAMFIT_VERSION, progress));
    outputs->options.sinks.push_back([book](const auto& one) {
      book->add(one);
      return base::Result<void>();
    });
  }
  watch::Watch watch(std::move(*source), std::move(outputs->options));
  base::InterruptScope scope;
  auto code = watch_machine(words, watch, *interval, outputs->notes);
  if (const std::string lost = watch::to_string(watch.lost()); !lost.empty()) {
    talk(fmt::format("vramfit: warning: {}\n", lost));
  }
  if (book) {
    book->finish(progress);
    if (book->number() > 0) talk(fmt::format("vramfit: noted as run {}\n", book->number()));
  }
  // It went on, in case there would be room again. What it was asked for is not whole all the same.
  if (code && watch.unrecorded() > 0) {
    return base::fail(base::ErrorCode::kSystem,
                      fmt::format("{} samples were not recorded: {}", watch.unrecorded(), watch.why_unrecorded()),
                      words.record, "free some disk space; what was recorded before is whole");
  }
  return code;
}

}  // namespace

Verb add_watch_verb(const Parser& parser) {
  auto words = std::make_shared<WatchWords>();
  const Parser verb = parser.add_verb("watch", "Watch the cards: on screen, into files, for Prometheus; or -- command");
  verb.add_flag("--once", words->once, "One look, then end; exit code 1 when a card does not answer or there is none");
  verb.add_option("--interval", words->interval, "Time between samples, from 10ms up (default 1s; 10ms for a command)");
  verb.add_option("--count", words->count, "End after this many samples").positive();
  verb.add_option("--json", words->json, "Write JSON to this file, one line a sample; - is stdout").written_file();
  verb.add_option("--csv", words->csv, "Write CSV to this file; - is stdout").written_file();
  verb.add_option("--record", words->record, "Record to this file; see it again with --replay");
  verb.add_option("--record-limit", words->record_limit, "Size at which the recording is rotated (64MiB)");
  verb.add_option("--record-keep", words->record_keep, "Rotated recordings to keep (4)").between(0, 1000);
  verb.add_option("--replay", words->replay, "Show a recording instead of this machine").existing_file();
  verb.add_option("--prometheus", words->prometheus, "Serve metrics on this address (127.0.0.1:9836)").takes(0, 1);
  verb.add_flag("--per-process", words->per_process, "A metric for each process too, with names of users and programs");
  verb.add_option("--alert", words->alerts, "Tell when a rule holds: \"mem>90% for 30s\"; may be repeated").keeps_all();
  verb.add_option("--exec", words->exec, "Run this shell command when an alert begins");
  verb.add_option("--card", words->cards, "Show these cards only, by number: 0 or 0,2; keys: 0-9, a for all")
      .one_value_each()
      .separated_by(',');
  verb.add_option("--sort", words->sort, "Order of the processes (memory)")
      .one_of({"memory", "card", "pid", "user", "since", "name"});
  verb.add_option("--filter", words->filter, "Show only processes that hold this text");
  verb.add_flag("--tree", words->tree, "Processes under those that started them");
  verb.add_flag("--headless", words->headless, "No screen: only files, metrics and alerts");
  verb.add_flag("--no-color", words->no_color, "No colours (as NO_COLOR)");
  verb.add_flag("--no-unicode", words->no_unicode, "Plain ASCII");
  verb.add_flag("--no-virtual", words->no_virtual, "Without the virtual cards of running sessions");
  verb.takes_command();
  std::string marks = "What stands on screen:";
  for (const std::string& line : tui::mark_lines(shows_utf8())) marks += "\n  " + line;
  verb.footer(marks);
  verb.examples({"vramfit watch --record cards.vfw", "vramfit watch -- python train.py"});
  return {verb, [words, verb](const Command& command) {
            words->wants_prometheus = verb.option("--prometheus").was_given();
            const auto code = act(*words, command);
            return code ? *code : report_error(code.error());
          }};
}

}  // namespace vramfit::cli
