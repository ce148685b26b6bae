// Open files that one process hands to another over a unix socket, with a line of text.
#ifndef VRAMFIT_ISOLATE_DESCRIPTORS_H
#define VRAMFIT_ISOLATE_DESCRIPTORS_H

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace vramfit::isolate {

// A socket in the folder, however long its path is; both ends find it by the folder and the name.
base::Result<base::FileDescriptor> listen_in(const std::string& folder, const std::string& name);
base::Result<base::FileDescriptor> connect_in(const std::string& folder, const std::string& name);

struct Parcel {
  std::string text;
  std::vector<base::FileDescriptor> files;
};
base::Result<void> send_parcel(int socket, const std::string& text, const std::vector<int>& files);
base::Result<Parcel> receive_parcel(int socket);

// All that is left to read of a file or pipe, up to its end or the first error.
std::string read_all(int file);

}  // namespace vramfit::isolate

#endif
