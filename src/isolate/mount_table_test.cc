#include "isolate/mount_table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace vramfit::isolate {
namespace {

TEST(MountTable, LinesAreReadWithTheirEscapesAndOptions) {
  const auto mounts = parse_mounts(
      "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
      "28 27 0:25 / /mnt/my\\040disk ro,nosuid - vfat none rw\n"
      "nonsense\n"
      "29 27 0:26 / /mnt/b rw shared:2 master:1 - nfs4 host:/b ro,vers=4\n"
      "30 27 0:27 / /end\\");
  const std::vector<Mount> expected = {
      {27, "/", "ext4", false}, {28, "/mnt/my disk", "vfat", true}, {29, "/mnt/b", "nfs4", true}};
  EXPECT_EQ(mounts, expected);
}

TEST(MountTable, ThisMachineHasARootAndNoPointTwice) {
  const auto mounts = visible_mounts();
  EXPECT_EQ(std::ranges::count(mounts, "/", &Mount::point), 1);
  for (const Mount& mount : mounts) EXPECT_EQ(std::ranges::count(mounts, mount.point, &Mount::point), 1) << mount.point;
}

TEST(MountTable, WhatLiesBelow) {
  EXPECT_TRUE(lies_below("/a", "/"));
  EXPECT_TRUE(lies_below("/a/b", "/a"));
  EXPECT_FALSE(lies_below("/ab", "/a"));
  EXPECT_FALSE(lies_below("/a", "/a"));
  EXPECT_FALSE(lies_below("/", "/"));
}

}  // namespace
}  // namespace vramfit::isolate
