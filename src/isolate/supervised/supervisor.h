// Answers the system calls of a job where no mounts can be made: a layer over its files by UnionTree, and no network.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_SUPERVISOR_H
#define VRAMFIT_ISOLATE_SUPERVISED_SUPERVISOR_H

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "isolate/supervised/services.h"
#include "isolate/supervised/union_tree.h"

namespace vramfit::isolate {

struct SupervisedPlaces {
  UnionPlaces files;
  bool network = false;  // the job has it
};

// One thread, from here until nobody is left whose calls it would answer, or until it goes.
class Supervisor {
 public:
  Supervisor(base::FileDescriptor listener, const SupervisedPlaces& places);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  ~Supervisor();

  // No call is answered any more; what the layer holds can be read then.
  void stop();
  const UnionTree& tree() const { return tree_; }
  std::int64_t refused_connections() const { return refused_; }

 private:
  void serve();

  base::FileDescriptor listener_, stop_;
  UnionTree tree_;
  const Services services_;  // the job waits for its first call to be answered, and has none of its own yet
  bool network_;
  std::atomic<std::int64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace vramfit::isolate

#endif
