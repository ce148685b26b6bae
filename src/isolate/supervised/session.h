// The layer of one job where no mounts can be made: the job's side and ours.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_SESSION_H
#define VRAMFIT_ISOLATE_SUPERVISED_SESSION_H

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "isolate/layer.h"
#include "isolate/supervised/supervisor.h"
#include "isolate/watch.h"

namespace vramfit::isolate {

// The job's side, in place of enter_layer(): `spec.staging` is where the mirror is kept. Under the supervisor lies
// Landlock, where the kernel has it: what the supervisor does not know fails, and changes nothing.
base::Result<void> enter_supervised(const LayerSpec& spec);

// Ours: waits for the job and answers its calls in a thread.
class SupervisedWatch {
 public:
  static base::Result<std::unique_ptr<SupervisedWatch>> listen(const LayerSpec& spec);
  ~SupervisedWatch();
  SupervisedWatch(const SupervisedWatch&) = delete;
  SupervisedWatch& operator=(const SupervisedWatch&) = delete;
  // Called after the job. An error: it never entered its layer.
  base::Result<LayerContents> look();
  base::Result<std::vector<std::string>> keep(const std::filesystem::path& folder) const;

 private:
  SupervisedWatch(LayerSpec spec, base::FileDescriptor socket);
  void wait_for_job();

  LayerSpec spec_;
  base::FileDescriptor socket_, stop_;
  std::mutex lock_;
  std::unique_ptr<Supervisor> supervisor_;
  std::thread waiting_;
};

}  // namespace vramfit::isolate

#endif
