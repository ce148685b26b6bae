#include "base/temporary_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "base/file.h"

namespace vramfit::base {

TemporaryFile::TemporaryFile(std::string_view purpose) {
  std::string name = (std::filesystem::temp_directory_path() / fmt::format("vramfit-{}.XXXXXX", purpose)).string();
  const FileDescriptor made(::mkstemp(name.data()));
  if (made) path_ = name;
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

}  // namespace vramfit::base
