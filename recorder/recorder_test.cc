#include "recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <vector>

#include "vramfit/vramfit.h"

namespace c10 {
struct Device {
  int8_t type;
  int8_t index;
};
void reportMemoryUsageToProfiler(void* block, int64_t size, size_t allocated, size_t reserved, Device device);
void reportOutOfMemoryToProfiler(int64_t size, size_t allocated, size_t reserved, Device device);
}  // namespace c10

namespace vramfit::recorder {
namespace {

constexpr c10::Device kCpu{0, -1};
constexpr c10::Device kCard{1, 2};

// The recorder is one per process and starts at its first event, so every test runs in a child of its own.
class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vramfit_recorder_XXXXXX";
    folder_ = mkdtemp(name.data());
    setenv(VF_ENV_RUN_DIR, folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv(VF_ENV_RUN_DIR);
    std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
    std::filesystem::remove_all(folder_);
  }

  pid_t in_child(const std::function<void()>& job) {
    const pid_t child = fork();
    if (child == 0) {
      job();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return child;
  }

  std::vector<vf_record> records(pid_t pid) const {
    std::ifstream file(folder_ + "/recording." + std::to_string(pid) + ".vfr", std::ios::binary);
    file.ignore(sizeof(vf_recording_header));
    std::vector<vf_record> all;
    for (vf_record record; file.read(reinterpret_cast<char*>(&record), sizeof record) && record.kind != 0;) {
      all.push_back(record);
    }
    return all;
  }
  std::string contents(const std::string& name) const {
    std::ifstream file(folder_ + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

  std::string folder_;
};

void* at(uintptr_t address) { return reinterpret_cast<void*>(address); }

TEST_F(RecorderTest, device_blocks_are_recorded_and_host_blocks_are_not) {
  const pid_t pid = in_child([] {
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
    c10::reportMemoryUsageToProfiler(at(0x9000), 64, 64, 0, kCpu);
    c10::reportMemoryUsageToProfiler(at(0x1000), -512, 0, 2048, kCard);
    c10::reportOutOfMemoryToProfiler(4096, 10, 20, kCard);
  });
  const auto all = records(pid);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, VF_RECORD_BLOCK_ALLOC);
  EXPECT_EQ(all[0].device, 2);
  EXPECT_EQ(all[0].address, 0x1000u);
  EXPECT_EQ(all[0].size, 512);
  EXPECT_EQ(all[0].a, 512);
  EXPECT_EQ(all[0].b, 2048);
  EXPECT_EQ(all[0].thread, static_cast<uint32_t>(pid));
  EXPECT_EQ(all[1].kind, VF_RECORD_BLOCK_FREE);
  EXPECT_EQ(all[1].size, 512);
  EXPECT_EQ(all[2].kind, VF_RECORD_OOM);
  EXPECT_EQ(all[2].size, 4096);
}

TEST_F(RecorderTest, a_process_without_events_leaves_no_file) {
  in_child([] { vramfit_set_stage(VF_STAGE_FORWARD); });
  EXPECT_EQ(files(), 0u);
}

TEST_F(RecorderTest, hooks_come_back_on_a_python_path_that_was_set_anew) {
  in_child([] {
    unsetenv("VRAMFIT_HOOKS");
    setenv("PYTHONPATH", ".", 1);
    if (keep_hooks()) _exit(1);
    setenv("VRAMFIT_HOOKS", "/vf/hook:/vf", 1);
    if (!keep_hooks() || getenv("PYTHONPATH") != std::string("/vf/hook:/vf:.")) _exit(2);
    if (keep_hooks()) _exit(3);  // they are there
    unsetenv("PYTHONPATH");
    if (!keep_hooks() || getenv("PYTHONPATH") != std::string("/vf/hook:/vf")) _exit(4);
  });
}

TEST_F(RecorderTest, phase_stage_and_scope_are_stamped_on_events) {
  const pid_t pid = in_child([] {
    vramfit_set_phase(VF_PHASE_TRAIN);
    vramfit_set_phase(VF_PHASE_TRAIN);  // no change, no record
    vramfit_set_stage(VF_STAGE_BACKWARD);
    const uint32_t conv = vramfit_intern("backbone.conv1");
    if (vramfit_set_scope(conv) != 0) _exit(1);
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
    if (vramfit_set_scope(0) != conv) _exit(2);
    vramfit_set_line(vramfit_intern("train.py:3 in f"));
    vramfit_step(7);
    vramfit_tag(0x1000, VF_OWNER_WEIGHT, conv);
    vramfit_mark("now");
  });
  const auto all = records(pid);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].kind, VF_RECORD_PHASE);
  EXPECT_EQ(all[0].phase, VF_PHASE_TRAIN);
  EXPECT_EQ(all[1].stage, VF_STAGE_BACKWARD);
  EXPECT_EQ(all[1].scope, 1u);
  EXPECT_EQ(all[2].kind, VF_RECORD_STEP);
  EXPECT_EQ(all[2].a, 7);
  EXPECT_EQ(all[2].scope, 0u);
  EXPECT_EQ(all[3].a, VF_OWNER_WEIGHT);
  EXPECT_EQ(all[3].text, 1u);
  EXPECT_EQ(all[4].line, 2u);
  EXPECT_EQ(contents("strings." + std::to_string(pid) + ".txt"), "backbone.conv1\ntrain.py:3 in f\nnow\n");
}

TEST_F(RecorderTest, a_forked_child_starts_its_own_recording_with_a_clean_position) {
  pid_t grandchild = 0;
  const std::string pid_file = folder_ + ".pid";
  const pid_t parent = in_child([&] {
    vramfit_set_phase(VF_PHASE_TRAIN);
    vramfit_set_scope(vramfit_intern("parent"));
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
    const pid_t forked = fork();
    if (forked == 0) {
      vramfit_intern("child");
      c10::reportMemoryUsageToProfiler(at(0x2000), 1024, 1024, 2048, kCard);
      _exit(0);
    }
    std::ofstream(pid_file) << forked;
    waitpid(forked, nullptr, 0);
    c10::reportMemoryUsageToProfiler(at(0x3000), 2048, 2048, 4096, kCard);
  });
  std::ifstream(pid_file) >> grandchild;
  std::filesystem::remove(pid_file);
  const auto child = records(grandchild);
  ASSERT_EQ(child.size(), 1u);
  EXPECT_EQ(child[0].size, 1024);
  EXPECT_EQ(child[0].phase, VF_PHASE_LOAD);
  EXPECT_EQ(child[0].scope, 0u);
  EXPECT_EQ(child[0].thread, static_cast<uint32_t>(grandchild));
  EXPECT_EQ(contents("strings." + std::to_string(grandchild) + ".txt"), "child\n");
  const auto parents = records(parent);
  ASSERT_EQ(parents.size(), 3u);
  EXPECT_EQ(parents[2].size, 2048);
}

TEST_F(RecorderTest, a_forked_child_may_choose_another_folder) {
  const std::string other = folder_ + "/other";
  std::filesystem::create_directory(other);
  in_child([&] {
    unsetenv(VF_ENV_RUN_DIR);
    vramfit_step(1);  // looked up and found unset
    const pid_t forked = fork();
    if (forked == 0) {
      setenv(VF_ENV_RUN_DIR, other.c_str(), 1);
      vramfit_step(1);
      _exit(0);
    }
    waitpid(forked, nullptr, 0);
  });
  EXPECT_FALSE(std::filesystem::is_empty(other));
}

TEST_F(RecorderTest, without_a_folder_everything_returns_at_once) {
  unsetenv(VF_ENV_RUN_DIR);
  in_child([] {
    if (vramfit_intern("x") != 0) _exit(1);
    vramfit_emit(VF_RECORD_COPY, 0, 0, 1, 1, 0, "text");
    vramfit_note("{}");
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
  });
  EXPECT_EQ(files(), 0u);
}

TEST_F(RecorderTest, a_missing_folder_is_said_once_on_stderr_and_the_job_goes_on) {
  const std::string err = folder_ + "/stderr";
  in_child([&] {
    setenv(VF_ENV_RUN_DIR, "/nonexistent/folder", 1);
    if (freopen(err.c_str(), "w", stderr) == nullptr) _exit(1);
    for (int i = 0; i < 3; ++i) c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
  });
  const std::string said = contents("stderr");
  EXPECT_TRUE(said.starts_with("vramfit: the recording can't be written")) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(RecorderTest, the_limit_is_noted) {
  pid_t pid = 0;
  {
    testing::internal::CaptureStderr();
    pid = in_child([] {
      setenv("VRAMFIT_RECORD_LIMIT", "1000", 1);
      for (int i = 0; i < 70'000; ++i) vramfit_step(1);
    });
    EXPECT_NE(testing::internal::GetCapturedStderr().find("VRAMFIT_RECORD_LIMIT"), std::string::npos);
  }
  EXPECT_NE(contents("notes." + std::to_string(pid) + ".jsonl")
                .find(R"("kind":"recording_stopped","text":"the recording reached)"),
            std::string::npos);
}

TEST_F(RecorderTest, notes_are_lines) {
  const pid_t pid = in_child([] {
    vramfit_note(R"({"kind":"a"})");
    vramfit_note("{\"kind\":\n\"b\"}");
  });
  EXPECT_EQ(contents("notes." + std::to_string(pid) + ".jsonl"), "{\"kind\":\"a\"}\n{\"kind\": \"b\"}\n");
}

TEST_F(RecorderTest, the_listener_hears_of_every_block_handed_out) {
  in_child([] {
    static int64_t heard = 0;
    vramfit_set_block_listener([](uint64_t, int64_t size) { heard += size; });
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
    c10::reportMemoryUsageToProfiler(at(0x1000), -512, 0, 2048, kCard);
    vramfit_set_block_listener(nullptr);
    c10::reportMemoryUsageToProfiler(at(0x1000), 512, 512, 2048, kCard);
    if (heard != 512) _exit(1);
  });
}

TEST(RecordLimit, is_2_gib_unless_a_number_is_given) {
  EXPECT_EQ(record_limit(nullptr), 2ull << 30);
  EXPECT_EQ(record_limit("nonsense"), 2ull << 30);
  EXPECT_EQ(record_limit("12x"), 2ull << 30);
  EXPECT_EQ(record_limit("4194304"), 4194304u);
}

}  // namespace
}  // namespace vramfit::recorder
