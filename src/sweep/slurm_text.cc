#include "sweep/slurm_text.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/parse_number.h"

namespace vramfit::sweep {
namespace {

using base::Result;
using nlohmann::json;

}  // namespace

Result<SlurmJobs> parse_slurm_jobs(std::string_view text, const std::string& name) {
  const auto refuse = [&] {
    return base::fail(base::ErrorCode::kCorrupt, "this is no list of jobs", name,
                      "remove it: trials without a result are then submitted again");
  };
  const json found = json::parse(text, nullptr, false);
  if (!found.is_object()) return refuse();
  SlurmJobs jobs;
  for (const auto& [trial, job] : found.items()) {
    const auto number = base::parse_number<std::size_t>(trial);
    if (!number || !job.is_string()) return refuse();
    jobs[*number] = job.get<std::string>();
  }
  return jobs;
}

std::string to_text(const SlurmJobs& jobs) {
  json text = json::object();
  for (const auto& [trial, job] : jobs) text[std::to_string(trial)] = job;
  return text.dump(1) + "\n";
}

std::string parse_submitted(const std::string& text) {
  std::istringstream lines(text);
  std::string line, job;
  while (std::getline(lines, line)) {
    if (!line.empty() && line.front() >= '0' && line.front() <= '9') job = line.substr(0, line.find(';'));
  }
  return job;
}

std::set<std::size_t> parse_queue(const std::string& text) {
  std::set<std::size_t> tasks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string task, state;
    words >> task >> state;
    const auto number = base::parse_number<std::size_t>(task);
    if (number && !state.empty() && state != "COMPLETED" && state != "CANCELLED") tasks.insert(*number);
  }
  return tasks;
}

}  // namespace vramfit::sweep
