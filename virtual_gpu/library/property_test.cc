// The parts of a version, as libraryPropertyType numbers them.
#include "virtual_gpu/library/property.h"

#include <gtest/gtest.h>

namespace {

namespace library = vramfit::library;

TEST(Property, each_part_has_its_number) {
  const library::Version version{12, 6, 3, 3};
  int value = 0;
  EXPECT_TRUE(library::tell_property(version, library::kMajorVersion, &value));
  EXPECT_EQ(value, 12);
  EXPECT_TRUE(library::tell_property(version, library::kMinorVersion, &value));
  EXPECT_EQ(value, 6);
  EXPECT_TRUE(library::tell_property(version, library::kPatchLevel, &value));
  EXPECT_EQ(value, 3);
}

TEST(Property, what_is_no_part_is_refused_and_nothing_is_written) {
  int value = 77;
  EXPECT_FALSE(library::tell_property({1, 2, 3, 4}, 3, &value));
  EXPECT_FALSE(library::tell_property({1, 2, 3, 4}, -1, &value));
  EXPECT_FALSE(library::tell_property({1, 2, 3, 4}, 0, nullptr));
  EXPECT_EQ(value, 77);
}

}  // namespace
