#include "base/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace vramfit::base {
namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("vramfit-file-test." + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(File, what_was_written_is_read_back_and_nothing_else_is_left) {
  ASSERT_TRUE(write_file(folder_ / "a.json", "one"));
  ASSERT_TRUE(write_file(folder_ / "a.json", "two"));
  EXPECT_EQ(read_file(folder_ / "a.json"), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(File, a_folder_that_is_not_there_is_an_error_with_its_path) {
  const auto written = write_file(folder_ / "no" / "a.json", "one");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().where.find("a.json"), std::string::npos);
  EXPECT_FALSE(read_file(folder_ / "none"));
}

TEST_F(File, a_pipe_is_written_to_and_not_replaced) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  ASSERT_TRUE(write_file("/dev/fd/" + std::to_string(write_end.number()), "hello"));
  char buffer[8] = {};
  EXPECT_EQ(::read(read_end.number(), buffer, sizeof buffer), 5);
  EXPECT_STREQ(buffer, "hello");
}

TEST_F(File, a_pipe_that_nobody_reads_or_writes_is_an_error_and_not_waited_for) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(write_file(pipe, "x").error().where, pipe.string());
  EXPECT_EQ(MappedFile::open(pipe).error().code, ErrorCode::kUnsupported);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(write_file(pipe, "x"));
  ::close(reader);
}

TEST_F(File, a_pipe_whose_reader_goes_away_is_an_error_of_the_write) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  std::thread leaves([&] {
    pollfd waiting{reader, POLLIN, 0};
    ::poll(&waiting, 1, 60'000);
    ::close(reader);
  });
  EXPECT_FALSE(write_file(pipe, std::string(8 << 20, 'x'))) << "more than any pipe holds";
  leaves.join();
}

TEST_F(File, what_is_written_into_a_pipe_is_read_to_its_end) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor held(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  const int end = ::open(pipe.c_str(), O_WRONLY);
  std::thread writer([&] {
    ASSERT_EQ(::write(end, "text", 4), 4);
    ::close(end);
  });
  EXPECT_EQ(read_file(pipe), "text");
  writer.join();
}

TEST_F(File, a_pipe_that_nobody_writes_to_is_refused) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_file(pipe).error().code, ErrorCode::kUnsupported);
}

TEST_F(File, a_device_without_an_end_is_refused) {
  EXPECT_FALSE(read_file("/dev/zero"));
  EXPECT_FALSE(read_file("/dev/urandom"));
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST_F(File, mapped_bytes_outlive_the_files_name) {
  ASSERT_TRUE(write_file(folder_ / "x", "abc"));
  const auto mapped = MappedFile::open(folder_ / "x");
  ASSERT_TRUE(mapped);
  fs::remove(folder_ / "x");
  ASSERT_EQ((*mapped)->bytes().size(), 3u);
  EXPECT_EQ(static_cast<char>((*mapped)->bytes()[2]), 'c');
}

TEST_F(File, an_empty_file_maps_to_no_bytes) {
  ASSERT_TRUE(write_file(folder_ / "x", ""));
  EXPECT_TRUE((*MappedFile::open(folder_ / "x"))->bytes().empty());
}

}  // namespace
}  // namespace vramfit::base
