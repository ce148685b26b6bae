// The launcher's side of a layer: what it held when the job had ended. docs/decisions/0007-a-layer-over-files.md
#ifndef VRAMFIT_ISOLATE_WATCH_H
#define VRAMFIT_ISOLATE_WATCH_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace vramfit::isolate {

enum class LayerChange { kCreated, kChanged, kRemoved };

struct LayerEntry {
  std::string path;  // as the job saw it
  LayerChange change = LayerChange::kCreated;
  std::int64_t bytes = 0;  // its size; 0 of what was removed
  friend bool operator==(const LayerEntry&, const LayerEntry&) = default;
};

// Bytecode that Python keeps beside its sources is not counted.
struct LayerContents {
  std::int64_t written = 0;            // files that were made or changed and are there at the end
  std::int64_t replaced = 0;           // of these, files that the user has too
  std::int64_t deleted = 0;            // files and folders of the user's that the job removed or renamed
  std::int64_t bytes = 0;              // of the files written, as their sizes say
  std::int64_t held = 0;               // bytes that the layer took; holes take none
  bool is_full = false;                // the layer had no room left
  std::int64_t network_attempts = 0;   // packets that found no way out, where the network was off
  std::vector<std::string> read_only;  // file systems that could not be covered
  std::vector<LayerEntry> entries;     // some of each kind of change

  // One more, told by name while there are not many of its kind.
  void add(LayerEntry entry);
  friend bool operator==(const LayerContents&, const LayerContents&) = default;
};

class LayerWatch {
 public:
  // `folder` holds the socket; it must be one of ours.
  static base::Result<LayerWatch> listen(const std::filesystem::path& folder);
  static constexpr const char* kSocket = "layer.sock";

  // After the job. An error: it never entered its layer.
  base::Result<LayerContents> look();
  // What the layer held, as files/<path> and a list of what was deleted: deleted.txt. What was not kept, a
  // line each. After look().
  base::Result<std::vector<std::string>> keep(const std::filesystem::path& folder) const;

 private:
  explicit LayerWatch(base::FileDescriptor socket) : socket_(std::move(socket)) {}
  std::filesystem::path upper(std::size_t number) const;

  base::FileDescriptor socket_, base_;
  std::vector<std::string> lowers_;
};

}  // namespace vramfit::isolate

#endif
