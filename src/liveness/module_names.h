// The tree that dotted module names make.
#ifndef VRAMFIT_LIVENESS_MODULE_NAMES_H
#define VRAMFIT_LIVENESS_MODULE_NAMES_H

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "liveness/module_trace.h"

namespace vramfit::liveness {

// Modules and nodes are numbered from 0: the place of one in a vector.
inline std::size_t place(int number) { return static_cast<std::size_t>(number); }

class ModuleNames {
 public:
  explicit ModuleNames(const ListedModel& model);

  // The module whose name is this one's without its last part; -1 for the model itself.
  int parent(int module) const { return parents_[static_cast<std::size_t>(module)]; }
  int find(std::string_view name) const;  // -1: there is none

  // The fewest modules under which all of `gone` and none else of `called` lie; never the model itself.
  std::vector<int> cover(const std::set<int>& gone, const std::set<int>& called) const;

  // "layer1.0.attention", "layer1.0: conv1 ... bn3", "fc, norm".
  std::string describe(const std::vector<int>& modules, const std::string& prefix) const;

 private:
  const ListedModel& model_;
  std::map<std::string, int, std::less<>> by_name_;
  std::vector<int> parents_;
};

}  // namespace vramfit::liveness

#endif
