// What recordings of the user's own cards have taught: kept beside the history, and used by later runs.
#ifndef VRAMFIT_APP_LEARNED_H
#define VRAMFIT_APP_LEARNED_H

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/subprocess.h"
#include "model/card.h"

namespace vramfit::app {

struct Learned {
  model::AddressOrder address_order = model::AddressOrder::kLinux;
  std::string recording;  // its file's name
  std::string date;       // "2026-11-22", of when it was learned
  friend bool operator==(const Learned&, const Learned&) = default;
};

// "linux", "wsl"
std::string to_string(model::AddressOrder order);
std::optional<model::AddressOrder> parse_address_order(const std::string& text);

// learned.json in the history's folder; nothing where no history is kept.
std::optional<std::filesystem::path> find_learned_file(const base::Environment& environment);

// Of one card, by its key in the catalogue ("rtx4060ti-8gb"). A file that can't be read teaches nothing.
std::optional<Learned> find_learned(const std::filesystem::path& file, const std::string& card);
// Takes the place of what was learned of the card before.
base::Result<void> keep_learned(const std::filesystem::path& file, const std::string& card, const Learned& learned);

}  // namespace vramfit::app

#endif
