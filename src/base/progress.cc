#include "base/progress.h"

namespace vramfit::base {
namespace {

class SilentProgress final : public ProgressSink {
 public:
  void update(std::string_view) override {}
  void say(std::string_view) override {}
  void clear() override {}
};

}  // namespace

ProgressSink& silent_progress() {
  static SilentProgress sink;
  return sink;
}

}  // namespace vramfit::base
