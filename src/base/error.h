// One error type for everything that may fail in an expected way: what happened, where, and what to try.
#ifndef VRAMFIT_BASE_ERROR_H
#define VRAMFIT_BASE_ERROR_H

#include <expected>
#include <string>
#include <utility>

namespace vramfit::base {

enum class ErrorCode {
  kUsage,        // the user asked for something that makes no sense; exit 2
  kNotFound,     // a card, file, interpreter or package is absent
  kCorrupt,      // bytes that cannot be what they claim to be
  kSystem,       // the operating system refused
  kUnsupported,  // known, and not possible here
  kInterrupted,  // Ctrl-C or SIGTERM
  kTimedOut,     // a time limit of ours
};

struct Error {
  ErrorCode code = ErrorCode::kSystem;
  std::string what;
  std::string where;   // file:line, an option, a path; may be empty
  std::string remedy;  // what to try; may be empty
  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string what, std::string where = {}, std::string remedy = {}) {
  return std::unexpected(Error{code, std::move(what), std::move(where), std::move(remedy)});
}

// "what", then where and remedy on lines of their own: how an error is shown to a person.
std::string to_string(const Error& error);

// `what` followed by the system's own text for errno.
std::unexpected<Error> fail_errno(std::string what, std::string where = {}, std::string remedy = {});

}  // namespace vramfit::base

#endif
