#include "isolate/supervised/plain_folders.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

namespace vramfit::isolate {
namespace {

TEST(PlainFolders, a_folder_is_known_by_the_words_it_was_named_with_until_something_in_it_changes) {
  PlainFolders folders;
  folders.add("/venv/lib", "/data/venv/lib");
  folders.add("/home/me/venv/lib", "/data/venv/lib");
  folders.add("/usr/lib", "/usr/lib");
  EXPECT_TRUE(folders.contains("/venv/lib"));
  EXPECT_FALSE(folders.contains("/venv"));
  EXPECT_FALSE(folders.contains("/data/venv/lib"));  // never named so
  folders.drop("/data/venv/lib");
  EXPECT_FALSE(folders.contains("/venv/lib"));
  EXPECT_FALSE(folders.contains("/home/me/venv/lib"));
  EXPECT_TRUE(folders.contains("/usr/lib"));
  folders.clear();
  EXPECT_FALSE(folders.contains("/usr/lib"));
}

TEST(PlainFolders, more_folders_than_there_is_room_for_only_push_others_out) {
  PlainFolders folders;
  constexpr int kMany = 3 * VF_PLAIN_SLOTS;
  const auto name = [](int i) { return "/data/" + std::to_string(i); };
  for (int i = 0; i < kMany; ++i) {
    folders.add(name(i), name(i));
    ASSERT_TRUE(folders.contains(name(i))) << i;
  }
  for (int i = 0; i < kMany; ++i) folders.drop(name(i));
  for (int i = 0; i < kMany; ++i) ASSERT_FALSE(folders.contains(name(i))) << i;
}

TEST(PlainFolders, the_job_reads_the_same_table_and_can_not_write_to_it) {
  PlainFolders folders;
  const base::FileDescriptor theirs = folders.open_read_only();
  ASSERT_TRUE(theirs);
  constexpr std::size_t kSize = sizeof(vf_plain_folders);
  EXPECT_EQ(::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.number(), 0), MAP_FAILED);
  EXPECT_TRUE(errno == EACCES || errno == EPERM) << errno;
  void* seen = ::mmap(nullptr, kSize, PROT_READ, MAP_SHARED, theirs.number(), 0);
  ASSERT_NE(seen, MAP_FAILED);
  folders.add("/usr/lib", "/usr/lib");
  const std::uint64_t hash = vf_plain_hash("/usr/lib", 8);
  EXPECT_EQ(static_cast<const vf_plain_folders*>(seen)->slots[vf_plain_first(hash)], hash);
  ::munmap(seen, kSize);
}

}  // namespace
}  // namespace vramfit::isolate
