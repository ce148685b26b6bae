// What stands between one job on a virtual card and the machine: a private layer over the files and no network
// (isolate/job_layer.h), with what the job and vramfit share left real.
#ifndef VRAMFIT_JOB_FILE_LAYER_H
#define VRAMFIT_JOB_FILE_LAYER_H

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "isolate/job_layer.h"
#include "job/run.h"

namespace vramfit::job {

struct SharedPlaces {
  std::filesystem::path run_folder;     // recordings and notes; the layer's own things lie in it too
  std::filesystem::path ledger;         // empty: none
  std::filesystem::path cudnn_answers;  // empty: none
};

class FileLayer {
 public:
  // Fails, before anything of the job has started, if the request wants a layer and this machine can make none.
  // VRAMFIT_LAYER_KIND and VRAMFIT_LAYER_LIMIT in `environment` choose a mechanism and the layer's size.
  static base::Result<FileLayer> open(const RunRequest& request, const SharedPlaces& places,
                                      const base::Environment& environment);
  FileLayer(FileLayer&&) noexcept = default;
  FileLayer& operator=(FileLayer&&) = delete;
  ~FileLayer();

  bool holds_files() const { return layer_ && layer_->spec().has_files; }
  // Whether another such job may run at the same time: each has its own files, ports and shared memory.
  bool stands_alone() const {
    return holds_files() && !layer_->spec().network && !layer_->spec().is_supervised && open_network_.empty();
  }
  // The child calls this before it becomes the job. Empty: there is no layer to enter.
  std::function<base::Result<void>()> entry() const;
  std::string spec() const;  // the same for a fork of the warm process; empty: nothing
  // After the job: what it did, copied to --keep-files. Nothing of a job on a real card.
  std::optional<model::FilesResult> finish(std::vector<model::Remark>& warnings);

 private:
  explicit FileLayer(const RunRequest& request) : options_(request.files), is_real_(request.real) {}
  base::Result<void> put_up(isolate::LayerSpec wanted, const std::filesystem::path& folder,
                            const base::Environment& environment);
  void count(model::FilesResult& files, std::vector<model::Remark>& warnings);

  FileOptions options_;
  bool is_real_;
  std::optional<isolate::JobLayer> layer_;
  std::string mechanism_, open_network_;  // why the network could not be closed around shared files
  std::filesystem::path reports_;         // of VRAMFIT_ON_OOM: made for the job, removed if it stays empty
};

// What to try when a job failed because it had no network, or no room left in its layer. Empty: it failed otherwise.
std::string remedy_for_layer(const model::ScriptError& error, const model::FilesResult& files);

}  // namespace vramfit::job

#endif
