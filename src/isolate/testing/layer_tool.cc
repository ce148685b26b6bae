// vramfit_layer_tool overlay|supervised FOLDER [--keep DIR] -- COMMAND...: runs the command in a layer of that kind and
// says on the last line of stderr what the layer held, as JSON. FOLDER is an empty one for the layer's own use.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "isolate/job_layer.h"
#include "isolate/lockdown.h"

namespace {

using namespace vramfit;
namespace fs = std::filesystem;

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

int tell(isolate::JobLayer& layer, const std::string& keep) {
  const auto contents = layer.look();
  if (!contents) return fail(contents.error());
  if (!keep.empty()) {
    const auto kept = layer.keep(keep);
    if (!kept) return fail(kept.error());
    for (const std::string& line : *kept) std::fprintf(stderr, "not kept: %s\n", line.c_str());
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
  const bool is_supervised = std::strcmp(words[1], "supervised") == 0;
  const auto mechanism = is_supervised          ? isolate::Mechanism::kSupervisor
                         : isolate::may_mount() ? isolate::Mechanism::kOverlay
                                                : isolate::Mechanism::kUserNamespace;
  isolate::LayerSpec wanted;
  wanted.near = {fs::current_path().string()};
  auto layer = isolate::JobLayer::open(std::move(wanted), mechanism, fs::canonical(words[2]));
  if (!layer) return fail(layer.error());
  const int code = run(layer->spec(), words + at + 1);
  const int told = tell(*layer, keep);
  return code != 0 ? code : told;
}
