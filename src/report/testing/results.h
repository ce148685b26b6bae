// Results as literals, for the tests of what shows them.
#ifndef VRAMFIT_REPORT_TESTING_RESULTS_H
#define VRAMFIT_REPORT_TESTING_RESULTS_H

#include "model/run_result.h"

namespace vramfit::report::testing {

// A training run that fits, with something in every list.
inline model::RunResult fitting_run() {
  using base::Bytes;
  model::RunResult result;
  result.verdict = model::Verdict::kFits;
  result.torch = "2.12.1+cu130";
  result.cuda = "13.0";
  result.python = "3.11.7";
  result.wall_seconds = 3.25;
  result.host_peak = Bytes::mib(700);
  result.margin = Bytes::mib(1200);
  result.processes = 1;
  result.peak_phase = "train";
  model::DeviceResult device;
  device.name = "NVIDIA GeForce RTX 3060";
  device.total = Bytes::gib(12);
  device.context = Bytes::mib(150);
  device.context_uncertainty = Bytes::mib(40);
  device.libraries = Bytes::mib(28);
  device.peaks = {Bytes::mib(5642), Bytes::mib(6302), Bytes::mib(6480)};
  device.needs = model::Needs{Bytes::mib(6100), Bytes::mib(6480), Bytes::mib(8), 7};
  result.devices = {device};
  result.phases = {{"load", 0, {Bytes::mib(100), Bytes::mib(110), Bytes::mib(288)}, 0},
                   {"train", 0, {Bytes::mib(5642), Bytes::mib(6302), Bytes::mib(6480)}, 4}};
  result.owners_at_peak = {{"activations", "layer1", "train.py:84 in step", 0, Bytes::mib(4000), 31},
                           {"weights", "", "train.py:20 in main", 0, Bytes::mib(1642), 161},
                           {"cached", "", "", 0, Bytes::mib(600), 0},
                           {"fragmented", "", "", 0, Bytes::mib(60), 0},
                           {"context", "", "", 0, Bytes::mib(150), 0},
                           {"libraries", "", "", 0, Bytes::mib(28), 0}};
  result.lines_at_peak = {{"train.py:84 in step", 0, Bytes::mib(4000), 31}};
  result.reach.watched = true;
  result.reach.batches = 1250;
  result.reach.seconds = 16.2;
  result.reach.lines_run = 0.94;
  result.reach.looked = {{0, 5000, 118287, false}};
  result.reach.unreached = {
      {"train.py", 97, 97, "train.py:97 in main", "print(step)", "every 500 steps", model::UsesCard::kNo}};
  result.cuts = {"the loader of train.py:70 was cut to 4 of 5000 batches a pass"};
  result.plan_applied = {"autocast: bfloat16"};
  result.plan_promised = {"that it trains the same is promised, not compared here"};
  result.depends_on_data = {{"a size (nonzero)", "train.py:90 in loss", 2}};
  result.not_modelled = {{"cusolverDnXgeev_bufferSize", 3}};
  result.assumed = {{"CUDA context on NVIDIA GeForce RTX 3060: 150 MiB ± 40 MiB a process (estimate)", 1}};
  result.untested = {"torch 2.99.0 is newer than those that are known"};
  result.warnings = {{"something strange", 1}};
  result.losses = {{model::LossKind::kHookFailed, 1, "phases.root (KeyError 'x')"}};
  result.files = model::FilesResult{.is_private = true,
                                    .mechanism = "overlay",
                                    .created = 11,
                                    .changed = 1,
                                    .removed = 3,
                                    .written = Bytes::gib(2),
                                    .held = Bytes::mib(3),
                                    .entries = {{"/home/me/out/last.pt", model::FileChange::kChanged, Bytes::gib(2)},
                                                {"/home/me/out/step-500", model::FileChange::kRemoved, Bytes(0)}},
                                    .network_attempts = 3};
  result.timeline = {{0, 0, "load", Bytes(0), Bytes(0), ""},
                     {900, 0, "train", Bytes::mib(5642), Bytes::mib(6302), "first step"}};
  return result;
}

// One that died in training.
inline model::RunResult dying_run() {
  model::RunResult result = fitting_run();
  result.verdict = model::Verdict::kOutOfMemory;
  result.exit_code = 1;
  result.margin.reset();
  result.devices[0].needs.reset();
  result.oom = model::Oom{base::Bytes::mib(512),
                          "CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 12.00 GiB "
                          "of which 20.00 MiB is free.",
                          "train",
                          false,
                          {{"train.py", 84, "step", "loss = model(batch)"}}};
  return result;
}

// One that failed before it reached the card.
inline model::RunResult failing_run() {
  model::RunResult result;
  result.reason = "the script failed, not for want of memory";
  result.exit_code = 1;
  result.error = model::ScriptError{
      "ModuleNotFoundError", "No module named 'datasets'", {{"train.py", 3, "<module>", "import datasets"}}};
  return result;
}

}  // namespace vramfit::report::testing

#endif
