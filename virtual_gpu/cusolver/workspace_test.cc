// Workspaces, against what a real H200 answered.
#include "virtual_gpu/cusolver/workspace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

namespace vramfit::cusolver {
namespace {

constexpr int64_t kMultiprocessors = 132;  // of an H200

struct Row {
  std::string function, type;
  int64_t m = 0, n = 0, k = 0, batch = 0, bytes = 0;
  int64_t size() const { return type == "float32" ? 4 : 8; }
};

Row row_of(const std::string& line) {
  std::istringstream fields(line);
  Row row;
  std::getline(fields, row.function, ',');
  std::getline(fields, row.type, ',');
  for (int64_t* value : {&row.m, &row.n, &row.k, &row.batch, &row.bytes}) {
    std::string field;
    std::getline(fields, field, ',');
    *value = field.empty() ? 0 : std::stoll(field);
  }
  return row;
}

using Answer = std::function<int64_t(const Row&)>;

int64_t symmetric(const Row& row) { return symmetric_bytes(row.n, row.batch, row.size()); }

TEST(Workspace, is_to_the_byte_what_a_real_card_asked_for) {
  const std::map<std::string, Answer> answers = {
      {"Xgeqrf", [](const Row& row) { return qr_bytes(row.n, row.size()); }},
      {"orgqr", [](const Row& row) { return orthogonal_bytes(row.m, row.n, row.k, row.size()); }},
      {"ormqr", [](const Row& row) { return multiply_bytes(row.m, row.n, row.k, row.size()); }},
      {"getrf", [](const Row& row) { return lu_bytes(row.m, row.n, row.size(), kMultiprocessors); }},
      {"Xpotrf", [](const Row& row) { return cholesky_bytes(row.n); }},
      {"syevj", [](const Row& row) { return symmetric_jacobi_bytes(row.n, row.size()); }},
      {"Xsyevd", symmetric},
      {"XsyevBatched", symmetric},
      {"gesvd", [](const Row& row) { return singular_bytes(row.m, row.n, row.size()); }},
      {"gesvdj", [](const Row& row) { return singular_jacobi_bytes(row.m, row.n, row.size()); }},
      {"gesvdjBatched", [](const Row& row) { return singular_jacobi_batched_bytes(row.size()); }},
      {"Xgeev", [](const Row& row) { return general_bytes(row.n, row.size()); }},
  };
  std::ifstream file(VRAMFIT_SOURCE_DIR "/fixtures/real_cards/cusolver_work_areas.csv");
  std::string line;
  std::getline(file, line);  // names of the columns
  int rows = 0;
  while (std::getline(file, line)) {
    const Row row = row_of(line);
    ASSERT_TRUE(answers.contains(row.function)) << line;
    EXPECT_EQ(answers.at(row.function)(row), row.bytes) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 592);
}

TEST(Workspace, an_oblong_matrix_and_its_transpose_take_the_same_for_singular_values) {
  EXPECT_EQ(singular_bytes(1000, 300, 4), singular_bytes(300, 1000, 4));
}

TEST(Workspace, only_large_factorisations_depend_on_the_card) {
  EXPECT_EQ(lu_bytes(1500, 1500, 4, 20), lu_bytes(1500, 1500, 4, 132));
  EXPECT_EQ(lu_bytes(2048, 2048, 4, 132) - lu_bytes(2048, 2048, 4, 131), 64 * 4);
}

}  // namespace
}  // namespace vramfit::cusolver
