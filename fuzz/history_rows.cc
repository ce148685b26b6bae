// Rows of a history that something else wrote or damaged. 'r': a value a line, each as the type that its first
// character says (a number, a text, bytes, nothing); 'u': a packed result.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "chosen_reader.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace {

namespace store = vramfit::store;

std::string select_of_parameters() {
  std::string sql = "SELECT ?1";
  for (int column = 2; column <= store::kRunColumnCount; ++column) sql += ", ?" + std::to_string(column);
  return sql;
}

void bind(store::Statement& row, int parameter, std::string_view value) {
  if (value.empty()) return;  // NULL
  const std::string_view rest = value.substr(1);
  switch (value[0]) {
    case 'i':
      row.bind(parameter, static_cast<std::int64_t>(std::strtoll(std::string(rest).c_str(), nullptr, 10)));
      break;
    case 'f':
      row.bind(parameter, std::strtod(std::string(rest).c_str(), nullptr));
      break;
    case 'b':
      row.bind_blob(parameter, rest);
      break;
    default:
      row.bind(parameter, value);
  }
}

void read_row(std::string_view text) {
  static auto connection = store::Connection::open(":memory:", 0);
  static const std::string sql = select_of_parameters();
  auto row = connection->prepare(sql);
  for (int parameter = 1; parameter <= store::kRunColumnCount; ++parameter) {
    const std::size_t end = text.find('\n');
    bind(*row, parameter, text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  vramfit::fuzz::require(row->step().value_or(false));
  static_cast<void>(store::read_run(*row));
}

void read_packed(std::string_view text) {
  const auto unpacked = store::unpack(text);
  if (unpacked) vramfit::fuzz::require(store::unpack(store::pack(*unpacked)).value_or("") == *unpacked);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return vramfit::fuzz::read_as_chosen(data, size, {{'r', read_row}, {'u', read_packed}});
}
