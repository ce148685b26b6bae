// A folder of shared memory for one job, which it takes for /dev/shm.
#ifndef VRAMFIT_ISOLATE_SHARED_MEMORY_H
#define VRAMFIT_ISOLATE_SHARED_MEMORY_H

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace vramfit::isolate {

class SharedMemoryFolder {
 public:
  static constexpr const char* kPlace = "/dev/shm";

  // Makes one in /dev/shm, named and locked as a session of vramfit is, so that a later run removes what a killed one
  // left; below `other`, a folder of ours, where there is no such place.
  static base::Result<SharedMemoryFolder> make(const std::filesystem::path& other);
  SharedMemoryFolder(SharedMemoryFolder&& from) noexcept;
  SharedMemoryFolder& operator=(SharedMemoryFolder&&) = delete;
  ~SharedMemoryFolder();  // with what the job left in it

  std::string path() const { return (folder_ / "files").string(); }

 private:
  SharedMemoryFolder(std::filesystem::path folder, base::FileDescriptor lock);

  std::filesystem::path folder_;  // empty: moved from
  base::FileDescriptor lock_;
};

}  // namespace vramfit::isolate

#endif
