// What was learned from recordings of the user's own cards: kept beside the history, and used by later runs.
#ifndef VRAMFIT_JOB_LEARNED_H
#define VRAMFIT_JOB_LEARNED_H

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"
#include "job/run.h"
#include "model/card.h"
#include "model/layer_workspace.h"

namespace vramfit::job {

// Each part is absent where the recordings did not tell it.
struct Learned {
  std::optional<model::AddressOrder> address_order;
  std::vector<model::LayerWorkspace> workspaces;      // of convolutions
  std::optional<MeasuredOverhead> measured_overhead;  // by context and libraries
  std::string recording;                              // the file's name of the last one
  std::string date;                                   // "2026-11-22", of when it was learned
  bool is_empty() const { return !address_order && workspaces.empty() && !measured_overhead; }
  friend bool operator==(const Learned&, const Learned&) = default;
};

// "linux", "wsl"
std::string to_string(model::AddressOrder order);
std::optional<model::AddressOrder> parse_address_order(const std::string& text);

// learned.json in the history's folder; nothing where no history is kept.
std::optional<std::filesystem::path> find_learned_file(const base::Environment& environment);

// Finds what was learned of a card, by its key in the catalogue ("rtx4060ti-8gb"). A file that can't be read teaches
// nothing.
std::optional<Learned> parse_learned(std::string_view text, const std::string& card);
std::optional<Learned> find_learned(const std::filesystem::path& file, const std::string& card);
// Replaces what was learned of the card before, part by part and convolution by convolution.
base::Result<void> keep_learned(const std::filesystem::path& file, const std::string& card, const Learned& learned);

// Where a run finds them, in its run folder: a line each for virtual_gpu/cudnn/learned_provider.cc.
inline constexpr const char* kLearnedWorkspaces = "learned_workspaces";
std::string to_lines(const std::vector<model::LayerWorkspace>& workspaces);

}  // namespace vramfit::job

#endif
