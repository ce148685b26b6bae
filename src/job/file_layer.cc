#include "job/file_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/bytes.h"
#include "probe/host.h"

namespace vramfit::job {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using isolate::LayerSpec;
using isolate::Mechanism;

namespace {

// The path without links: a link that the job makes inside the layer is not there outside.
std::string real_path(const fs::path& path) {
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  return problem ? std::string() : real.string();
}

// Half of the memory that this process may use, because the layer is kept in memory.
Result<std::int64_t> find_limit(const base::Environment& environment) {
  if (const std::string text = base::value_of(environment, "VRAMFIT_LAYER_LIMIT"); !text.empty()) {
    auto limit = base::parse_bytes(text);
    if (limit) return limit->count();
    limit.error().where = "VRAMFIT_LAYER_LIMIT";
    return std::unexpected(limit.error());
  }
  const model::HostReading host = probe::read_host({});
  if (!host.cgroup_limit_bytes) return 0;  // as the kernel reckons it
  const auto group = *host.cgroup_limit_bytes;
  if (host.memory_total_bytes && *host.memory_total_bytes <= group) return 0;
  return static_cast<std::int64_t>(group) / 2;
}

Result<std::optional<Mechanism>> chosen_mechanism(const base::Environment& environment) {
  const std::string text = base::value_of(environment, "VRAMFIT_LAYER_KIND");
  if (text.empty()) return std::nullopt;
  const auto mechanism = isolate::parse_mechanism(text);
  if (mechanism) return mechanism;
  return base::fail(ErrorCode::kUsage, fmt::format("\"{}\" is no way to keep files private", text),
                    "VRAMFIT_LAYER_KIND", "overlay, user_namespace or supervisor");
}

// Tried once for each kind of layer in the life of this process.
Result<Mechanism> find_mechanism_once(const LayerSpec& wanted, std::optional<Mechanism> only, const fs::path& folder) {
  static std::map<std::pair<bool, bool>, Result<Mechanism>> known;
  const auto key = std::make_pair(wanted.has_files, wanted.network);
  auto found = known.find(key);
  if (found == known.end()) {
    found = known.emplace(key, isolate::find_mechanism(wanted, only, folder)).first;
  }
  return found->second;
}

model::FileChange change_of(isolate::LayerChange change) {
  switch (change) {
    case isolate::LayerChange::kCreated:
      return model::FileChange::kCreated;
    case isolate::LayerChange::kChanged:
      return model::FileChange::kChanged;
    case isolate::LayerChange::kRemoved:
      break;
  }
  return model::FileChange::kRemoved;
}

bool has_any(const std::string& text, auto words) {
  return std::ranges::any_of(words, [&](const char* word) { return text.find(word) != std::string::npos; });
}

}  // namespace

Result<void> FileLayer::put_up(LayerSpec wanted, const fs::path& folder, const base::Environment& environment) {
  const auto only = chosen_mechanism(environment);
  if (!only) return std::unexpected(only.error());
  const auto mechanism = find_mechanism_once(wanted, *only, folder / "probe");
  if (!mechanism && !wanted.has_files) {
    open_network_ = mechanism.error().what;
    return {};
  }
  if (!mechanism) {
    return base::fail(ErrorCode::kUnsupported,
                      "this machine gives no private layer for the job's files, so it was not started",
                      mechanism.error().what, "--files shared: the job then writes to your own files");
  }
  auto layer = isolate::JobLayer::open(std::move(wanted), *mechanism, folder / "files");
  if (!layer) return std::unexpected(layer.error());
  mechanism_ = to_string(*mechanism);
  layer_.emplace(std::move(*layer));
  return {};
}

Result<FileLayer> FileLayer::open(const RunRequest& request, const SharedPlaces& places,
                                  const base::Environment& environment) {
  FileLayer layer(request);
  if (request.real || (!request.files.is_private && request.files.network)) return layer;
  LayerSpec wanted;
  wanted.has_files = request.files.is_private;
  wanted.network = request.files.network;
  const auto limit = find_limit(environment);
  if (!limit) return std::unexpected(limit.error());
  wanted.limit_bytes = *limit;
  std::error_code ignored;
  const std::string mode = base::value_of(environment, "VRAMFIT_ON_OOM");
  if (wanted.has_files && (mode == model::asked::kOnOomReport || mode == model::asked::kOnOomDoctor)) {
    const std::string named = base::value_of(environment, "VRAMFIT_ON_OOM_DIR");
    const fs::path reports = fs::absolute(named.empty() ? "vramfit-oom" : named, ignored);
    if (fs::create_directories(reports, ignored) || fs::is_directory(reports, ignored)) layer.reports_ = reports;
  }
  for (const fs::path& path : {places.run_folder, places.ledger, places.cudnn_answers, layer.reports_}) {
    if (std::string real = real_path(path); !real.empty()) wanted.shared.push_back(std::move(real));
  }
  for (const fs::path& path : {fs::current_path(ignored), fs::path(base::value_of(environment, "HOME")),
                               fs::path(base::value_of(environment, "TMPDIR"))}) {
    if (std::string real = real_path(path); !real.empty()) wanted.near.push_back(std::move(real));
  }
  if (auto done = layer.put_up(std::move(wanted), places.run_folder, environment); !done) {
    return std::unexpected(done.error());
  }
  return layer;
}

FileLayer::~FileLayer() {
  std::error_code ignored;
  if (!reports_.empty()) fs::remove(reports_, ignored);  // only an empty one
}

std::function<Result<void>()> FileLayer::entry() const {
  if (!layer_) return {};
  return [spec = layer_->spec()] { return isolate::enter(spec); };
}

std::string FileLayer::spec() const { return layer_ ? isolate::to_text(layer_->spec()) : std::string(); }

void FileLayer::count(model::FilesResult& files, std::vector<model::Remark>& warnings) {
  auto seen = layer_->look();
  if (!seen) return;  // killed before it came to that
  files.network_attempts = seen->network_attempts;
  if (!files.is_private) return;
  files.created = seen->written - seen->replaced;
  files.changed = seen->replaced;
  files.removed = seen->deleted;
  files.written = base::Bytes(seen->bytes);
  files.held = base::Bytes(seen->held);
  files.is_full = seen->is_full;
  files.read_only = std::move(seen->read_only);
  for (const isolate::LayerEntry& entry : seen->entries) {
    files.entries.push_back({entry.path, change_of(entry.change), base::Bytes(entry.bytes)});
  }
  if (options_.keep.empty()) return;
  std::error_code ignored;
  for (const char* own : {"files", "deleted.txt"}) fs::remove_all(options_.keep / own, ignored);  // of a run before
  const auto kept = layer_->keep(options_.keep);
  if (!kept) {
    warnings.push_back({fmt::format("--keep-files: {}", kept.error().what), 1});
    return;
  }
  files.kept = options_.keep.string();
  for (const std::string& line : *kept) warnings.push_back({fmt::format("--keep-files: not kept: {}", line), 1});
}

std::optional<model::FilesResult> FileLayer::finish(std::vector<model::Remark>& warnings) {
  if (is_real_) return std::nullopt;
  model::FilesResult files;
  files.is_private = options_.is_private;
  files.mechanism = mechanism_;
  files.network = options_.network || !open_network_.empty();
  if (layer_) count(files, warnings);
  if (!open_network_.empty()) {
    warnings.push_back(
        {fmt::format("the network could not be closed for the job, only services told to stay offline ({})",
                     open_network_),
         1});
  }
  return files;
}

std::string remedy_for_layer(const model::ScriptError& error, const model::FilesResult& files) {
  static constexpr std::array kNetwork = {"Network is unreachable",
                                          "name resolution",
                                          "Name or service not known",
                                          "offline mode",
                                          "OfflineMode",
                                          "outgoing traffic has been disabled",
                                          "Max retries exceeded",
                                          "find the requested files in the",
                                          "internet connection",
                                          "ConnectionError",
                                          "getaddrinfo",
                                          "couldn't connect to"};
  static constexpr std::array kFull = {"No space left on device", "PytorchStreamWriter failed", "disk is full"};
  const std::string text = error.type + ": " + error.message;
  if (files.is_private && (has_any(text, kFull) || files.is_full)) {
    return fmt::format(
        "the private layer for its files is full ({} held in it): --files shared, or a larger VRAMFIT_LAYER_LIMIT",
        to_string(files.held));
  }
  if (!files.network && has_any(text, kNetwork))
    return "--network: the job has no network on a virtual card without it";
  return "";
}

}  // namespace vramfit::job
