#include "report/run_text.h"

#include <gtest/gtest.h>

#include "report/layout.h"
#include "report/testing/results.h"

namespace vramfit::report {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return lines;
}

TEST(RunText, the_verdict_comes_first_and_last) {
  model::RunResult result = testing::fitting_run();
  result.reach.whole = true;
  const auto lines = lines_of(run_to_text(result, {}));
  const std::string verdict = "[✓] fits NVIDIA GeForce RTX 3060: 6.33 GiB of 12.00 GiB at the peak (train)";
  EXPECT_EQ(lines.front(), verdict);
  EXPECT_EQ(lines.back(), verdict);
}

TEST(RunText, a_script_that_caught_its_error_did_not_simply_fit) {
  model::RunResult result = testing::fitting_run();
  result.oom = model::Oom{base::Bytes::mib(36), "CUDA out of memory", "train", true, {}};
  const auto lines = lines_of(run_to_text(result, {}));
  EXPECT_TRUE(lines.front().starts_with("[!] ran out of memory on NVIDIA GeForce RTX 3060 and went on"))
      << lines.front();
  EXPECT_TRUE(verdict_line(result).contains("36 MiB asked for"));
}

TEST(RunText, every_line_keeps_within_the_page_and_has_no_trailing_space) {
  for (const auto& result : {testing::fitting_run(), testing::dying_run(), testing::failing_run()}) {
    for (const bool verbose : {false, true}) {
      for (const std::string& line : lines_of(run_to_text(result, {verbose, false}))) {
        EXPECT_LE(columns(line), kPageWidth) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
      }
    }
  }
}

TEST(RunText, an_oom_shows_the_line_the_owners_and_pytorchs_words) {
  const std::string text = run_to_text(testing::dying_run(), {});
  for (const char* part :
       {"[✗] out of memory on NVIDIA GeForce RTX 3060 while in phase train: tried to", "train.py:84 in step",
        "loss = model(batch)", "CUDA out of memory. Tried to allocate 512.00 MiB", "What held card 0 when it ran out",
        "activations"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(RunText, an_oom_at_load_says_where_and_how_much_was_to_come) {
  const model::LoadingFacts moved{"moved", "Net", "blocks.7.up", base::Bytes::gib(23), base::Bytes::gib(9)};
  EXPECT_EQ(loading_sentence(moved),
            "Net was being moved to the card, at blocks.7.up: 23.00 GiB of it were there, 9.00 GiB were to come.");
  const model::LoadingFacts built{"built", "Net", "Net > Block", base::Bytes::gib(23), std::nullopt};
  EXPECT_EQ(loading_sentence(built),
            "Net was being built, at Net > Block: 23.00 GiB of models were on the card, and more was to come.");
}

TEST(RunText, of_a_framework_with_a_pool_its_own_peak_is_the_answer) {
  model::RunResult run = testing::fitting_run();
  run.torch.clear();
  run.frameworks = {{"JAX", "0.10.2", 0, base::Bytes::mib(80), base::Bytes::gib(8)}};
  const std::string text = run_to_text(run, {});
  EXPECT_NE(lines_of(text).front().find("JAX used 80 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("JAX 0.10.2 used 80 MiB of card 0 at its peak, of a pool of 8.00 GiB"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\nJAX 0.10.2, Python 3.11.7"), std::string::npos) << text;
}

TEST(RunText, what_was_cut_assumed_and_not_modelled_is_said) {
  const std::string text = run_to_text(testing::fitting_run(), {});
  for (const char* part : {"cut to 4 of 5000 batches", "cusolverDnXgeev_bufferSize (3 times)", "± 40 MiB",
                           "a size (nonzero) at train.py:90", "something strange",
                           "[!] Untested\n  - torch 2.99.0 is newer", "needs at least 5.96 GiB"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(RunText, what_the_job_did_to_files_and_tried_to_send_is_said_in_a_line_each) {
  model::RunResult result = testing::fitting_run();
  const auto has = [&](const char* part) {
    std::string text = run_to_text(result, {});
    std::erase(text, '\n');
    for (std::size_t at = 0; (at = text.find("    ", at)) != std::string::npos;) text.replace(at, 4, " ");
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("12 files written, 1 of them over your own, 3 removed: in a private layer, gone now"));
  EXPECT_TRUE(has("3 attempts refused (--network opens it)"));
  result.files->kept = "kept-files";
  EXPECT_TRUE(has("kept in kept-files"));
  result.files = model::FilesResult{.is_private = true};
  EXPECT_FALSE(has("Files and network")) << "a job that wrote nothing";
  result.files->is_private = false;
  EXPECT_TRUE(has("files: shared"));
}

TEST(RunText, how_far_it_ran_is_said_and_lines_that_leave_the_card_alone_are_not) {
  const std::string text = run_to_text(testing::fitting_run(), {});
  EXPECT_NE(text.find("1,250 batches and steps (16.2 s)"), std::string::npos) << text;
  EXPECT_NE(text.find("looked at 5,000 of 118,287 samples"), std::string::npos) << text;
  EXPECT_EQ(text.find("was not reached"), std::string::npos) << text;
}

TEST(RunText, up_to_five_lines_that_use_the_card_and_were_not_reached_are_listed) {
  model::RunResult result = testing::fitting_run();
  for (int line = 212; line < 219; ++line) {
    result.reach.unreached.push_back(
        {"/home/me/train.py", line, line, "", "evaluate(model)", "every 1,000 steps", model::UsesCard::kYes});
  }
  const std::string text = run_to_text(result, {});
  EXPECT_NE(text.find("line 212 of train.py, evaluate(model), was not reached (every 1,000"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("line 217"), std::string::npos) << text;
  EXPECT_NE(text.find("and 2 more places"), std::string::npos) << text;
  EXPECT_TRUE(lines_of(text).front().starts_with("[✓] fits as far as it ran, on NVIDIA GeForce RTX 3060")) << text;
}

TEST(RunText, a_failure_names_the_exception_and_no_peaks) {
  const std::string text = run_to_text(testing::failing_run(), {});
  EXPECT_NE(text.find("ModuleNotFoundError: No module named 'datasets'"), std::string::npos);
  EXPECT_EQ(text.find("Peaks"), std::string::npos);
}

}  // namespace
}  // namespace vramfit::report
