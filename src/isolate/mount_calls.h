// mount(2) and its newer kin, with errors that name the path. Older C libraries do not have all of them.
#ifndef VRAMFIT_ISOLATE_MOUNT_CALLS_H
#define VRAMFIT_ISOLATE_MOUNT_CALLS_H

#include <string>

#include "base/error.h"
#include "base/file.h"

namespace vramfit::isolate {

// `from` and all that is mounted below it, seen at `at` too.
base::Result<void> bind_mount(const std::string& from, const std::string& at);
// The mount at `at` and all below it can't be written through any more.
base::Result<void> make_read_only(const std::string& at);

// A copy of the mount at `path` that hangs nowhere yet, and its place.
base::Result<base::FileDescriptor> take_mount(const std::string& path);
base::Result<void> put_mount(const base::FileDescriptor& mount, const std::string& at);

// `root`, a mount point, becomes this process's root, and the root before it can't be reached any more.
base::Result<void> change_root(const std::string& root);

}  // namespace vramfit::isolate

#endif
