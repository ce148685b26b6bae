// A private layer over the machine's files, for one job: what it writes goes there, what it reads is the layer over the
// real files, and nothing of it is left when the job's last process has ended.
// docs/decisions/0007-a-layer-over-files.md
//
//   launcher ── fork ── enter_layer(spec) ── exec the job        (or no exec: a fork of the warm process)
//      └── LayerWatch: what the layer held, read after the job     (isolate/watch.h)
//
// Every mounted file system is covered by an overlay of its own whose upper part is in memory; what can't be covered is
// mounted read-only. No list of functions: it holds for any process, static or not, that the job starts.
#ifndef VRAMFIT_ISOLATE_LAYER_H
#define VRAMFIT_ISOLATE_LAYER_H

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace vramfit::isolate {

struct LayerSpec {
  std::string staging;              // an empty folder of ours: the layer is put together there, and nobody else sees it
  std::string report;               // the socket that LayerWatch listens at; empty: nobody asks
  std::vector<std::string> shared;  // files and folders that the job and we both use: these are the real ones
  std::vector<std::string> near;    // folders the job is likely to write to: its own, HOME, TMPDIR
  bool network = false;             // false: only loopback, and nothing but the job's own processes listens there
  bool is_supervised = false;       // a supervisor's, where no mounts can be made (isolate/supervised)
  std::int64_t limit_bytes = 0;     // of what the layer may hold; 0: half of the machine's memory
  bool has_files = true;            // false: files stay the real ones, and the network alone is the job's own
  bool in_user_namespace = false;   // one is made even where mounts can be made without
  std::string shared_memory;        // of a supervised job: the folder that it takes for /dev/shm; empty: the real one
};

std::string to_text(const LayerSpec& spec);  // JSON: for the warm process
base::Result<LayerSpec> parse_layer_spec(const std::string& text);

// Moves this process, which must have a single thread, and all its later children into a new layer. The working folder
// and open descriptors stay: a file that was open before is the real one. After an error the process must end.
base::Result<void> enter_layer(const LayerSpec& spec);
// One or the other, as the spec says.
base::Result<void> enter(const LayerSpec& spec);

}  // namespace vramfit::isolate

#endif
