// vramfit_layer_tool overlay|supervised FOLDER [--keep DIR] -- COMMAND...: runs the command in a layer of that kind and
// says on the last line of stderr what the layer held, as JSON. FOLDER is an empty one for the layer's own use.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "isolate/layer.h"
#include "isolate/supervised/session.h"
#include "isolate/watch.h"

namespace {

using namespace vramfit;
namespace fs = std::filesystem;

struct Watches {
  std::optional<isolate::LayerWatch> overlay;
  std::unique_ptr<isolate::SupervisedWatch> supervised;
};

int fail(const base::Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 99;
}

int run(const isolate::LayerSpec& spec, char** command) {
  const pid_t child = fork();
  if (child == 0) {
    if (const auto entered = isolate::enter(spec); !entered) _exit(fail(entered.error()));
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int tell(Watches& watches, const std::string& keep) {
  const auto contents = watches.overlay ? watches.overlay->look() : watches.supervised->look();
  if (!contents) return fail(contents.error());
  if (!keep.empty()) {
    const auto kept = watches.overlay ? watches.overlay->keep(keep) : watches.supervised->keep(keep);
    if (!kept) return fail(kept.error());
  }
  const nlohmann::json text = {{"written", contents->written},
                               {"replaced", contents->replaced},
                               {"deleted", contents->deleted},
                               {"bytes", contents->bytes},
                               {"network_attempts", contents->network_attempts}};
  std::fprintf(stderr, "%s\n", text.dump().c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  int at = 3;
  std::string keep;
  if (count > 5 && std::strcmp(words[3], "--keep") == 0) {
    keep = words[4];
    at = 5;
  }
  if (count < at + 2 || std::strcmp(words[at], "--") != 0) return 2;
  isolate::LayerSpec spec;
  spec.is_supervised = std::strcmp(words[1], "supervised") == 0;
  const fs::path folder = fs::canonical(words[2]);
  spec.staging = (folder / "layer").string();
  fs::create_directory(spec.staging);
  spec.report = (folder / "layer.sock").string();
  spec.near = {fs::current_path().string()};
  Watches watches;
  if (spec.is_supervised) {
    auto listening = isolate::SupervisedWatch::listen(spec);
    if (!listening) return fail(listening.error());
    watches.supervised = std::move(*listening);
  } else {
    auto listening = isolate::LayerWatch::listen(folder);
    if (!listening) return fail(listening.error());
    watches.overlay.emplace(std::move(*listening));
  }
  const int code = run(spec, words + at + 1);
  const int told = tell(watches, keep);
  return code != 0 ? code : told;
}
