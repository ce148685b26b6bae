// Keeps every program that a job starts on the virtual card. The card comes by variables, and a program that is given
// an environment of its own (`env -i`, `subprocess.run(..., env={...})`, an LD_PRELOAD of the job's) would find none,
// or the machine's, without a word.
//
// Only what our parts start outside on purpose says so (VRAMFIT_OUTSIDE). Nothing is allocated: others call us between
// vfork and exec.
#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "recorder.h"

namespace {

constexpr char kPreload[] = "LD_PRELOAD=", kLibraries[] = "LD_LIBRARY_PATH=";
constexpr char kLedger[] = "VRAMFIT_LEDGER=";

// The variables as this program began with them: it may empty its environment later.
char* kept[64];
const char *preload = nullptr, *libraries = nullptr;

bool begins(const char* text, const char* with) { return std::strncmp(text, with, std::strlen(with)) == 0; }

[[gnu::constructor]] void note_variables() {
  preload = std::getenv("VRAMFIT_PRELOAD");
  libraries = std::getenv("VRAMFIT_LIBRARIES");
  if (preload == nullptr || libraries == nullptr) return;
  preload = strdup(preload);
  libraries = strdup(libraries);
  char** next = kept;
  for (char** entry = environ; *entry != nullptr && next != std::end(kept) - 1; ++entry) {
    if (begins(*entry, "VRAMFIT_")) *next++ = strdup(*entry);
  }
}

const char* find(char* const* environment, const char* name) {
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    if (begins(*entry, name)) return *entry;
  }
  return nullptr;
}

bool is_named_alike(const char* one, const char* other) {
  const std::size_t length = std::strcspn(one, "=") + 1;
  return std::strncmp(one, other, length) == 0;
}

bool is_on_card(char* const* environment) {
  const char *loaded = find(environment, kPreload), *searched = find(environment, kLibraries);
  return find(environment, kLedger) != nullptr && loaded != nullptr && std::strstr(loaded, preload) != nullptr &&
         searched != nullptr && std::strstr(searched, libraries) != nullptr;
}

// Bytes of a variable of ours with what the program wants behind it.
std::size_t length_of(const char* name, const char* ours, const char* theirs) {
  return std::strlen(name) + std::strlen(ours) + 1 + (theirs != nullptr ? std::strlen(theirs) : 0) + 1;
}

char* put_first(char* into, const char* name, const char* ours, const char* theirs) {
  char* end = stpcpy(stpcpy(into, name), ours);
  if (theirs == nullptr || theirs[std::strlen(name)] == '\0') return into;
  stpcpy(stpcpy(end, ":"), theirs + std::strlen(name));
  return into;
}

// `into` has room for all of them.
void join(char** into, char* const* environment, char* loaded, char* searched) {
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    if (!begins(*entry, kPreload) && !begins(*entry, kLibraries)) *into++ = *entry;
  }
  for (char** entry = kept; *entry != nullptr; ++entry) {
    bool is_there = false;
    for (char* const* own = environment; *own != nullptr; ++own) is_there = is_there || is_named_alike(*entry, *own);
    if (!is_there) *into++ = *entry;
  }
  *into++ = loaded;
  *into++ = searched;
  *into = nullptr;
}

std::size_t count(char* const* entries) {
  std::size_t found = 0;
  while (entries[found] != nullptr) ++found;
  return found;
}

// Calls `go` with the environment that such a program gets.
template <class Go>
int with_card(char* const* environment, const Go& go) {
  static char* const empty[] = {nullptr};
  if (environment == nullptr) environment = empty;
  if (preload == nullptr || libraries == nullptr || find(environment, "VRAMFIT_OUTSIDE=") != nullptr ||
      is_on_card(environment)) {
    return go(environment);
  }
  const char *loaded = find(environment, kPreload), *searched = find(environment, kLibraries);
  auto* both = static_cast<char*>(alloca(length_of(kPreload, preload, loaded)));
  auto* paths = static_cast<char*>(alloca(length_of(kLibraries, libraries, searched)));
  auto** whole = static_cast<char**>(alloca((count(environment) + std::size(kept) + 3) * sizeof(char*)));
  join(whole, environment, put_first(both, kPreload, preload, loaded),
       put_first(paths, kLibraries, libraries, searched));
  return go(whole);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

using Spawn = int (*)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                      char* const*);

}  // namespace

#define VRAMFIT_EXPORT extern "C" __attribute__((visibility("default")))

VRAMFIT_EXPORT int execve(const char* path, char* const words[], char* const environment[]) noexcept {
  return with_card(environment,
                   [&](char* const* whole) { return vramfit::recorder::execute_layered(path, words, whole); });
}

VRAMFIT_EXPORT int execv(const char* path, char* const words[]) noexcept { return execve(path, words, environ); }

VRAMFIT_EXPORT int execvpe(const char* name, char* const words[], char* const environment[]) noexcept {
  static const auto original = next<int (*)(const char*, char* const*, char* const*)>("execvpe");
  return with_card(environment, [&](char* const* whole) { return original(name, words, whole); });
}

VRAMFIT_EXPORT int execvp(const char* name, char* const words[]) noexcept { return execvpe(name, words, environ); }

VRAMFIT_EXPORT int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static const auto original = next<Spawn>("posix_spawn");
  return with_card(environment,
                   [&](char* const* whole) { return original(child, path, actions, attributes, words, whole); });
}

VRAMFIT_EXPORT int posix_spawnp(pid_t* child, const char* name, const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, char* const words[], char* const environment[]) {
  static const auto original = next<Spawn>("posix_spawnp");
  return with_card(environment,
                   [&](char* const* whole) { return original(child, name, actions, attributes, words, whole); });
}
