#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Semaphores of multiprocessing are files of /dev/shm as well.
void look_at_semaphores(const Scene& scene, Draft& draft) {
  for (const model::Traceback& traceback : scene.texts.tracebacks) {
    for (const model::TracedException& exception : traceback.exceptions) {
      if (!mentions(exception.message, {"no space left on device"})) continue;
      for (const model::TraceFrame& frame : exception.frames) {
        const bool of_semaphore = mentions(frame.code, {"semlock"}) ||
                                  mentions(frame.file, {"multiprocessing/synchronize", "multiprocessing\\synchronize"});
        if (!of_semaphore) continue;
        draft.weigh(0.88).because(model::SourceLine{traceback.at.file, exception.last_line, exception.message},
                                  "a semaphore found no room: it is a file of /dev/shm, whatever room the disk has");
        return;
      }
    }
  }
}

bool reads_in_workers(const Scene& scene) {
  return std::ranges::any_of(scene.texts.tracebacks, [](const model::Traceback& traceback) {
    return std::ranges::any_of(traceback.exceptions, [](const model::TracedException& exception) {
      return std::ranges::any_of(exception.frames, [](const model::TraceFrame& frame) {
        return mentions(frame.file, {"utils/data/", "multiprocessing/"});
      });
    });
  });
}

// "Worker children keep dying with SIGBUS": in prose too.
bool mentions_signal(const Scene& scene) {
  return std::ranges::any_of(scene.texts.told,
                             [](const model::ToldSentence& told) {
                               return mentions(told.at.text, {"sigbus", "bus error"});
                             }) ||
         std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
           return file.not_understood && mentions(file.not_understood->text, {"sigbus", "bus error"});
         });
}

void find_shm_exhausted(const Scene& scene, Draft& draft) {
  look_at_semaphores(scene, draft);
  for (const model::ShmError& error : scene.texts.shm_errors) {
    if (scene.lacks_open_files() && error.kind == model::ShmErrorKind::kUnavailable) continue;
    // The signal alone says that memory which was mapped could not be had: mostly, but not always, /dev/shm.
    const bool is_signal_alone = error.kind == model::ShmErrorKind::kBusError &&
                                 !mentions(error.at.text, {"worker", "shared memory"}) && !reads_in_workers(scene);
    draft.weigh(is_signal_alone ? 0.55 : error.kind == model::ShmErrorKind::kUnavailable ? 0.7 : 0.92);
    draft.because(error.at, error.asked ? fmt::format("{} of shared memory asked for", show(error.asked))
                                        : "shared memory ran out while processes exchanged tensors");
    break;
  }
  for (const model::HostInfo& info : scene.texts.host) {
    if (!mentions(info.subject, {"/dev/shm"}) && !mentions(info.subject, {"shm"})) continue;
    Size total, used;
    for (const model::NamedBytes& size : info.sizes) {
      if (size.name == "total" || size.name == "size") total = size.bytes;
      if (size.name == "used") used = size.bytes;
    }
    if (!total) continue;
    const bool small = total->value <= model::Bytes::mib(64);
    const bool full = share(used, total) > 0.95;
    if (!small && !full) continue;
    const bool worker_died = mentions_signal(scene);
    if (!draft.is_empty()) draft.adjust(0.04);
    if (draft.is_empty() && full) draft.weigh(worker_died ? 0.85 : 0.5);
    if (draft.is_empty() && small && worker_died) draft.weigh(0.7);
    if (!draft.is_empty() && full && !scene.has_failure() && !worker_died) draft.severity(model::Severity::kWarning);
    draft.because(info.at, fmt::format("/dev/shm has {}{}", show(total),
                                       small ? ", the default of a container" : " and is full"));
  }
  if (const model::Remarkable* left = find_remark(scene, model::SentenceKind::kToldShmLeft);
      left != nullptr && draft.is_empty()) {
    draft.weigh(0.5).because(left->at, "something of an earlier run lies in /dev/shm, which is memory too");
    draft.fix({"Remove what a run that crashed left there", "ls -l /dev/shm  # then rm FILE, if nobody uses it",
               std::nullopt, "none", Applicability::kFillIn});
  }
  if (draft.is_empty()) return;
  draft.fix({"Give the container more shared memory", "docker run --shm-size=8g ...  # or --ipc=host", std::nullopt,
             "none", Applicability::kMayBeWrong});
  draft.fix({"Exchange tensors through files", "torch.multiprocessing.set_sharing_strategy(\"file_system\")",
             std::nullopt, "little", Applicability::kAsIs});
  draft.fix({"Fewer workers", "DataLoader(..., num_workers=0)", std::nullopt, "slower loading", Applicability::kAsIs});
}

}  // namespace

const Cause kShmExhausted{
    "VF502",
    "shm_exhausted",
    "Shared memory (/dev/shm) ran out",
    "a bus error in a loader worker, \"No space left on device\" on a shared file, /dev/shm of 64 MB",
    "Loader workers pass batches through /dev/shm, NCCL uses it too. In a container it has 64 MB unless told "
    "otherwise; "
    "writing beyond it kills the worker with a bus error.",
    "--shm-size or --ipc=host, or fewer workers.",
    find_shm_exhausted};

}  // namespace vramfit::doctor
