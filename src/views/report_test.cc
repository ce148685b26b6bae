#include "views/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ingest/stored_result.h"
#include "report/fit_json.h"
#include "report/run_json.h"
#include "views/confidential.h"

namespace vramfit::views {

using base::Bytes;
using model::StoredRun;

namespace {

constexpr std::string_view kHostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onload='x' &lt;";

// Every text of it is `text`.
model::RunResult result_full_of(const std::string& text) {
  model::RunResult result{.verdict = model::Verdict::kOutOfMemory, .exit_code = 1};
  result.torch = result.cuda = result.python = result.peak_phase = text;
  result.devices = {{.name = text, .total = Bytes(1 << 30), .peaks = {Bytes(1 << 20), Bytes(2 << 20), Bytes(3 << 20)}}};
  result.phases = {{.name = text, .steps = 3}};
  result.owners_at_peak = {{text, text, text, 0, Bytes(1 << 20), 2}, {"weights", "", "", 0, Bytes(1 << 10), 1}};
  result.lines_at_peak = {{text, 0, Bytes(1 << 20), 2}};
  result.oom = model::Oom{Bytes(1 << 25), text, text, false, {{text, 3, text, text}}};
  result.error = model::ScriptError{.type = text, .message = text, .stack = {{text, 4, text, text}}, .remedy = text};
  result.cuts = result.plan_applied = result.plan_refused = result.plan_promised = result.untested = {text};
  result.depends_on_data = {{text, text, 1}};
  result.not_modelled = result.assumed = result.warnings = {{text, 2}};
  result.timeline = {{0, 0, text, Bytes(1), Bytes(2), text, std::nullopt},
                     {1000000000, 0, text, Bytes(1 << 20), Bytes(2 << 20), "", Bytes(3 << 20)}};
  return result;
}

StoredRun stored_full_of(const std::string& text, std::int64_t number) {
  StoredRun run{.number = number, .state = model::RunState::kEnded};
  run.start = {.verb = "run",
               .command = {text},
               .folder = text,
               .script = text,
               .script_hash = text,
               .git = {text, text, true},
               .host = text,
               .version = text,
               .card = text,
               .plan = text};
  run.end.verdict = "out_of_memory";
  run.end.findings = {{"VF1", text, text}};
  run.end.result = report::run_to_json(result_full_of(text), "1");
  run.note = text;
  run.tags = {text};
  return run;
}

model::PlanRow plan_row(std::string name, std::int64_t peak, double factor) {
  return {.plan = {.name = name, .changes = {{.technique = name}}},
          .standing = model::PlanStanding::kFits,
          .predicted = Bytes(peak),
          .predicted_peak = Bytes(peak),
          .proven = model::Peaks{Bytes(peak), Bytes(peak), Bytes(peak)},
          .time_factor = factor,
          .effect = "same"};
}

model::FitResult some_fit() {
  model::FitResult fit{.verdict = model::FitVerdict::kPlanFits, .card = "card", .limit = Bytes(100)};
  fit.as_is = result_full_of("plain");
  fit.plans = {plan_row("quick", 90, 1.0), plan_row("worse", 95, 1.5), plan_row("small", 50, 2.0)};
  fit.lost = {{.plan = {.name = "lost"},
               .standing = model::PlanStanding::kNotRun,
               .predicted = Bytes(300),
               .predicted_peak = Bytes(300)}};
  fit.techniques = {{"autocast", "applicable", ""}};
  fit.front = {plan_row("quick", 90, 1.0), plan_row("faster and too large", 120, 0.9), plan_row("small", 50, 2.0)};
  fit.prove_command = "vramfit run --plan plan.json -- python train.py";
  return fit;
}

}  // namespace

TEST(Report, no_text_of_a_run_gets_into_the_page_unescaped) {
  const std::string html =
      build_report({stored_full_of(std::string(kHostile), 1), stored_full_of("plain", 2)}, {.version = "1"});
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_EQ(html.find("onload='"), std::string::npos);
  EXPECT_EQ(html.find("\" onload"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(1)"), std::string::npos);
  EXPECT_EQ(html.find("</script>"), html.rfind("</script>")) << "only our own script ends";
}

TEST(Report, a_result_is_read_back_as_it_was_written) {
  const model::RunResult result = result_full_of("plain");
  const auto read = ingest::read_stored_result(report::run_to_json(result, "1"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->run, result);
  EXPECT_FALSE(read->fit);
}

TEST(Report, a_result_that_was_stored_as_schema_1_is_read_back) {
  const model::RunResult result = result_full_of("plain");
  auto stored = nlohmann::json::parse(report::run_to_json(result, "1"));
  ASSERT_EQ(stored["schema"], 2);
  stored["schema"] = 1;
  stored["evidence"]["leftovers"] = nlohmann::json::array();  // its name before it was kept_from_training
  stored["evidence"].erase("kept_from_training");
  const auto read = ingest::read_stored_result(stored.dump());
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->run, result);
}

TEST(Report, a_fit_is_read_back_and_its_verdict_leads) {
  const auto read = ingest::read_stored_result(report::fit_to_json(some_fit(), "1"));
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_TRUE(read->fit);
  EXPECT_EQ(read->fit->plans.size(), 3u);
  EXPECT_EQ(read->fit->plans[2].proven->device, Bytes(50));
  EXPECT_FALSE(read->fit->lost[0].proven);
  StoredRun run{.number = 4, .state = model::RunState::kEnded};
  run.end.result = report::fit_to_json(some_fit(), "1");
  const std::string html = build_report({run}, {.version = "1"});
  EXPECT_NE(html.find("[✓] quick fits card"), std::string::npos);
  EXPECT_LT(html.find("[✓] quick fits card"), html.find("Peak against time"));
}

TEST(Report, a_run_within_a_fit_is_read_back_too) {
  model::FitResult fit = some_fit();
  fit.free_run = result_full_of("free");
  const auto read = ingest::read_stored_result(report::fit_to_json(fit, "1"));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->fit->free_run, fit.free_run);
}

TEST(Report, plans_are_on_the_front_that_the_search_found_there) {
  StoredRun run{.number = 4, .state = model::RunState::kEnded};
  run.end.result = report::fit_to_json(some_fit(), "1");
  const std::string html = build_report({run}, {.version = "1"});
  const auto row_of = [&](const std::string& plan) {
    const std::size_t at = html.find(">" + plan + "</td>");
    return html.substr(at, html.find("</tr>", at) - at);
  };
  EXPECT_NE(row_of("quick").find("on the front"), std::string::npos);
  EXPECT_EQ(row_of("worse").find("on the front"), std::string::npos);
  EXPECT_NE(row_of("small").find("on the front"), std::string::npos);
}

TEST(Report, a_damaged_result_leaves_the_tables_of_the_history_and_says_so) {
  const std::string whole = report::run_to_json(result_full_of("plain"), "1");
  for (const std::string& damaged :
       {std::string("{"), std::string("[]"), std::string("7"), std::string("{}"), whole.substr(0, whole.size() / 2),
        std::string(R"({"verdict":"fits","devices":7})"),
        std::string(R"({"verdict":"fits","timeline":[{"at_ns":"x"}]})"), std::string(R"({"verdict":"marvellous"})")}) {
    StoredRun run{.number = 9, .state = model::RunState::kEnded};
    run.end.verdict = "fits";
    run.end.devices = {{.name = "a card", .device = Bytes(3)}};
    run.end.result = damaged;
    const std::string html = build_report({run}, {.version = "1"});
    EXPECT_NE(html.find("not a run&#39;s result"), std::string::npos) << damaged;
    EXPECT_NE(html.find("a card"), std::string::npos) << damaged;
  }
}

TEST(Report, a_run_without_a_result_is_told_by_its_state) {
  const std::string html =
      build_report({StoredRun{.number = 3, .state = model::RunState::kInterrupted}}, {.version = "1"});
  EXPECT_NE(html.find("[!] interrupted: there is no result"), std::string::npos);
}

TEST(Report, confidential_leaves_out_sources_paths_command_and_host) {
  const std::string secret = "/data/secret/train.py:12 in main";
  // Names of cards, phases, versions and modules stay as they are: the secret is put where sources and paths stand.
  StoredRun run = stored_full_of("plain", 1);
  run.start.command = {secret};
  run.start.folder = run.start.script = run.start.host = run.note = run.start.plan = run.start.git.branch = secret;
  model::RunResult result = result_full_of("plain");
  result.lines_at_peak[0].line = result.owners_at_peak[0].line = result.oom->message = result.error->message = secret;
  result.oom->stack = result.error->stack = {{secret, 1, secret, secret}};
  result.warnings[0].text = "written to " + secret;
  result.depends_on_data[0].line = result.reason = result.timeline[0].mark = secret;
  run.end.result = report::run_to_json(result, "1");
  StoredRun other = stored_full_of("plain", 2);
  const std::string cleaned = build_report({run, other}, {.is_confidential = true, .version = "1"});
  EXPECT_EQ(cleaned.find("secret"), std::string::npos) << cleaned.substr(cleaned.find("secret") - 200, 400);
  EXPECT_EQ(cleaned.find("train.py"), std::string::npos);
  EXPECT_NE(cleaned.find("written to [left out]"), std::string::npos);
  EXPECT_NE(cleaned.find("were left out"), std::string::npos);
}

TEST(Report, words_that_look_like_paths_are_taken_out_of_sentences) {
  EXPECT_EQ(without_paths("saved to /data/a.pt (12 times)"), "saved to [left out] (12 times)");
  EXPECT_EQ(without_paths("in train.py:12, twice"), "in [left out], twice");
  EXPECT_EQ(without_paths("C:\\me\\x"), "[left out]");
  EXPECT_EQ(without_paths("109 MiB ± 35 MiB a process at 3 GiB/s"), "109 MiB ± 35 MiB a process at 3 GiB/s");
}

}  // namespace vramfit::views
