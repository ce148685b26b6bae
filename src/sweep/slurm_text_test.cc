#include "sweep/slurm_text.h"

#include <gtest/gtest.h>

namespace vramfit::sweep {
namespace {

TEST(SlurmText, jobs_are_read_as_they_were_written) {
  const SlurmJobs jobs = {{0, "17"}, {31, "18_4"}};
  EXPECT_EQ(*parse_slurm_jobs(to_text(jobs), "slurm.json"), jobs);
}

TEST(SlurmText, what_is_no_list_of_jobs_is_refused_by_its_name) {
  for (const char* text : {"", "[]", "{\"abc\":\"17\"}", "{\"99999999999999999999999\":\"17\"}", "{\"1\":17}",
                           "{\"-1\":\"17\"}", "{\"1 \":\"17\"}"}) {
    const auto jobs = parse_slurm_jobs(text, "out/slurm.json");
    ASSERT_FALSE(jobs.has_value()) << text;
    EXPECT_EQ(jobs.error().where, "out/slurm.json");
    EXPECT_NE(jobs.error().remedy.find("remove it"), std::string::npos);
  }
}

TEST(SlurmText, the_job_is_named_behind_warnings_and_with_its_cluster) {
  EXPECT_EQ(parse_submitted("sbatch: warning: no memory was asked for\n4711;gpu\n"), "4711");
  EXPECT_EQ(parse_submitted("sbatch: error: no such partition\n"), "");
}

TEST(SlurmText, tasks_that_wait_or_run_are_in_the_queue) {
  EXPECT_EQ(parse_queue("3 RUNNING\n4 PENDING\n5 COMPLETED\n6 CANCELLED\n"), (std::set<std::size_t>{3, 4}));
}

TEST(SlurmText, jobs_that_are_no_array_and_other_lines_are_no_tasks) {
  EXPECT_EQ(parse_queue("N/A RUNNING\nslurm_load_jobs error: x\n7\n\n99999999999999999999999 RUNNING\n8 RUNNING\n"),
            (std::set<std::size_t>{8}));
}

}  // namespace
}  // namespace vramfit::sweep
