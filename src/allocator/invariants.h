// Checks the rules that hold after every step of the simulator. Slow and obvious on purpose; for tests and fuzzers.
#ifndef VRAMFIT_ALLOCATOR_INVARIANTS_H
#define VRAMFIT_ALLOCATOR_INVARIANTS_H

#include <string>
#include <vector>

#include "allocator/simulator.h"

namespace vramfit::allocator {

class InvariantCheck {
 public:
  explicit InvariantCheck(const Simulator& simulator) : simulator_(simulator) {}

  // Every violation: empty when all is well.
  std::vector<std::string> violations();

 private:
  void check_neighbours();
  void check_lists();
  void check_sums();

  const Simulator& simulator_;
  std::vector<std::string> found_;
};

}  // namespace vramfit::allocator

#endif
