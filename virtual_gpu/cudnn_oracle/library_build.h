// Which build of a library a folder holds, told by what its files contain: an upgrade in the same folder is another
// build, and the same wheel in another environment is the same one.
#pragma once

#include <string>

namespace vramfit::cudnn_oracle {

// Describes every file in `folder` whose name begins with `prefix`: name, size, and a checksum over its beginning and
// its end. ELF headers, the build id, symbols and relocations lie there; the gigabyte of kernels between is left
// unread. Empty when there is no such file.
std::string describe_build(const std::string& folder, const std::string& prefix);

}  // namespace vramfit::cudnn_oracle
