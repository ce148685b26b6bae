#include "base/error.h"

#include <cerrno>
#include <system_error>

namespace vramfit::base {

std::string to_string(const Error& error) {
  std::string text = error.what;
  if (!error.where.empty()) text += "\n  where: " + error.where;
  if (!error.remedy.empty()) text += "\n  try:   " + error.remedy;
  return text;
}

std::unexpected<Error> fail_errno(std::string what, std::string where, std::string remedy) {
  const int number = errno;
  what += ": " + std::generic_category().message(number);
  return fail(ErrorCode::kSystem, std::move(what), std::move(where), std::move(remedy));
}

}  // namespace vramfit::base
