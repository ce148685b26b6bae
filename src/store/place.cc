#include "store/place.h"

#include <string>

namespace vramfit::store {

namespace fs = std::filesystem;

std::optional<fs::path> find_store(const base::Environment& environment) {
  const std::string named = base::value_of(environment, "VRAMFIT_STORE");
  if (named == "none") return std::nullopt;
  if (!named.empty()) return fs::absolute(named);
  const std::string data = base::value_of(environment, "XDG_DATA_HOME");
  if (data.starts_with('/')) return fs::path(data) / "vramfit" / "runs.db";
  const std::string home = base::value_of(environment, "HOME");
  if (home.empty()) return std::nullopt;
  return fs::path(home) / ".local" / "share" / "vramfit" / "runs.db";
}

}  // namespace vramfit::store
