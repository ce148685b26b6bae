#include "app/init/init.h"

#include <chrono>
#include <utility>

#include "app/catalogue.h"
#include "job/kept_environment.h"
#include "probe/host.h"
#include "store/place.h"
#include "store/store.h"
#include "watch/source.h"

namespace vramfit::app {

namespace {

// The interpreter a job would get, as the user's shell would find it.
base::Result<job::Interpreter> inspect(const std::vector<std::string>& command, const base::Environment& environment) {
  std::vector<std::vector<std::string>> tries = {command};
  if (command.empty()) tries = {{"python"}, {"python3"}};
  base::Result<job::CommandShape> shape = base::fail(base::ErrorCode::kNotFound, "there is no python in the PATH");
  for (const auto& one : tries) {
    shape = job::find_interpreter(one, environment);
    if (shape) return job::inspect_interpreter(shape->interpreter, environment);
  }
  return std::unexpected(shape.error());
}

std::map<std::string, model::ComputeCapability> read_capabilities() {
  std::map<std::string, model::ComputeCapability> capabilities;
  const auto cards = load_catalogue();
  if (!cards) return capabilities;
  for (const model::Card& card : *cards) capabilities.emplace(card.name, card.capability);
  return capabilities;
}

}  // namespace

InitFacts gather_facts(const InitRequest& request) {
  const base::Environment environment = base::current_environment();
  InitFacts facts{.interpreter = inspect(request.command, environment)};
  if (auto sample = watch::open_machine({.sessions = false})->next(); sample && *sample)
    facts.machine = std::move(**sample);
  const probe::HostPlaces places{
      .proc = request.root / "proc", .cgroups = request.root / "sys/fs/cgroup", .shm = request.root / "dev/shm"};
  facts.machine.host = probe::read_host(places);
  facts.capabilities = read_capabilities();
  facts.variables = environment;
  facts.limits = probe::read_limits(places.proc);
  facts.container = probe::find_container(request.root);
  if (const auto cache = job::find_cache(environment)) {
    facts.cache_folder = cache->string();
    facts.cache_free_bytes = probe::free_bytes_at(*cache);
  }
  if (const auto store = store::find_store(environment)) {
    facts.store_folder = store->parent_path().string();
    facts.store_free_bytes = probe::free_bytes_at(store->parent_path());
    if (const auto opened = store::Store::open(*store); !opened) facts.store_problem = opened.error();
  }
  const auto temporary = environment.find("TMPDIR");
  facts.temporary_folder = temporary == environment.end() || temporary->second.empty() ? "/tmp" : temporary->second;
  facts.temporary_free_bytes = probe::free_bytes_at(facts.temporary_folder);
  return facts;
}

}  // namespace vramfit::app
