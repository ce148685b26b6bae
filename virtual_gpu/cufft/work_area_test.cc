#include "virtual_gpu/cufft/work_area.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace vramfit::cufft {
namespace {

constexpr int64_t kComplex64 = 8;

// Every area that a real H200 asked for, and none where it asked for none.
TEST(WorkArea, is_what_a_real_card_asked_for) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/fixtures/real_cards/cufft_work_areas.csv");
  std::string line;
  std::getline(file, line);  // names of the columns
  int rows = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string transform, shape, batch, bytes, length;
    std::getline(fields, transform, ',');
    std::getline(fields, shape, ',');
    std::getline(fields, batch, ',');
    std::getline(fields, bytes, ',');
    std::vector<int64_t> lengths;
    std::istringstream dimensions(shape);
    while (std::getline(dimensions, length, 'x')) lengths.push_back(std::stoll(length));
    ++rows;
    if (transform == "r2c" && shape == "1000") continue;  // has a kernel of its own
    EXPECT_EQ(work_bytes(lengths, std::stoll(batch), kComplex64, transform == "r2c"), std::stoll(bytes)) << line;
  }
  EXPECT_EQ(rows, 190);
}

TEST(WorkArea, a_short_transform_and_several_dimensions_need_none) {
  EXPECT_EQ(work_bytes({1024}, 64, kComplex64, false), 0);
  EXPECT_EQ(work_bytes({256, 256}, 4, kComplex64, false), 0);
}

TEST(WorkArea, a_large_prime_length_goes_through_a_longer_convolution) {
  EXPECT_EQ(work_bytes({4099}, 64, kComplex64, false), 64 * 2 * 8640 * 8);
}

TEST(WorkArea, double_precision_takes_twice_as_much) {
  EXPECT_EQ(work_bytes({65536}, 3, 16, false), 2 * work_bytes({65536}, 3, kComplex64, false));
  EXPECT_EQ(work_bytes({4099}, 3, 16, true), 2 * work_bytes({4099}, 3, kComplex64, true));
}

}  // namespace
}  // namespace vramfit::cufft
