#include "doctor/launcher_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/parse_number.h"

namespace vramfit::doctor {

namespace {

constexpr std::string_view kDigits = "0123456789";

// The largest number behind a name: 4 of "slurm_ntasks=4", "world_size: 4", "-n 1 -n 4".
std::optional<int> largest_behind(std::string_view line, std::string_view name) {
  std::optional<int> most;
  for (std::size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) {
    std::string_view rest = line.substr(at + name.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(" =:\"'"), rest.size()));
    const auto number = base::parse_number<int>(rest.substr(0, rest.find_first_not_of(kDigits)));
    if (number) most = std::max(most.value_or(*number), *number);
  }
  return most;
}

// "--nproc_per_node=1", "nproc-per-node 1": one process is no job of several.
bool asks_for_one(std::string_view line) {
  for (const std::string_view name : {"nproc_per_node", "nproc-per-node", "num_processes"}) {
    if (line.contains(name)) return largest_behind(line, name) == 1;
  }
  return false;
}

// The words of what starts several processes of one job. Lightning names a LOCAL_RANK of a single one too.
bool is_of_launcher(std::string_view line) {
  static constexpr auto kWords =
      std::to_array<std::string_view>({"torchrun", "torch.distributed.run", "torch.distributed.launch",
                                       "torch.distributed.elastic", "torch/distributed/", "accelerate launch",
                                       "childfailederror", "local_rank", "nproc_per_node", "nproc-per-node"});
  return !line.contains("cuda_visible_devices") && !asks_for_one(line) &&
         std::ranges::any_of(kWords, [&](std::string_view word) { return line.contains(word); });
}

// What starts or ends several processes says of them: torch.multiprocessing.spawn, and mpirun of a rank.
bool is_of_processes(std::string_view line) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"mpirun detected that one or more", "mpirun noticed that process rank", "mpiexec detected that one or more",
       "mpiexec noticed that process rank", "prterun detected that one or more", "prterun noticed that process rank"});
  return (line.contains("-- process ") && line.contains(" terminated with the following error")) ||
         std::ranges::any_of(kWords, [&](std::string_view word) { return line.contains(word); });
}

// Lightning's "GLOBAL_RANK: 0, MEMBER: 1/4", a script's "rank 1/4" and "rank 0 of 4"
bool is_one_of_several(std::string_view line) {
  for (const std::string_view name : {"member: ", "rank ", "rank: "}) {
    const std::size_t at = line.find(name);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + name.size());
    const std::size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
    rest.remove_prefix(digits);
    for (const std::string_view sign : {"/", " of "}) {
      if (digits > 0 && rest.starts_with(sign) && largest_behind(rest, sign).value_or(0) > 1) return true;
    }
  }
  return false;
}

// What says how many tasks there are, or that one is not the first. "srun: error: node1: task 3: Exited"
bool counts_tasks(std::string_view line) {
  static constexpr auto kCounts =
      std::to_array<std::string_view>({"slurm_ntasks=", "slurm_ntasks:", "slurm_nprocs=", "slurm_ntasks_per_node=",
                                       "slurm_step_num_tasks=", "--ntasks=", "--ntasks ", "--ntasks-per-node",
                                       "world_size=", "world_size:", "world size", "ompi_comm_world_size"});
  static constexpr auto kRanks = std::to_array<std::string_view>(
      {"slurm_procid", "slurm_localid", "ompi_comm_world_rank", "ompi_comm_world_local_rank", "pmi_rank"});
  const auto is_above = [&](std::string_view name, int least) {
    return largest_behind(line, name).value_or(0) > least;
  };
  const bool starts = std::ranges::any_of(std::to_array<std::string_view>({"srun ", "mpirun ", "mpiexec "}),
                                          [&](std::string_view name) { return line.contains(name); });
  const bool is_of_srun = line.contains("srun: ") || line.contains("slurmstepd: ");
  return std::ranges::any_of(kCounts, [&](std::string_view name) { return is_above(name, 1); }) ||
         std::ranges::any_of(kRanks, [&](std::string_view name) { return is_above(name, 0); }) ||
         (starts && (is_above(" -n", 1) || is_above(" -np", 1))) ||
         (is_of_srun && (is_above(": task ", 0) || line.contains(": tasks "))) || is_one_of_several(line);
}

// A line of something that starts, watches or ends processes of its own: not a table, and not what people write.
bool is_of_parent(std::string_view line) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"spawned", "subprocess", "closing signal", "local_rank", "local rank", "[rank", "launch.py", "started process",
       "starting process", "started server process", "started worker", "launched process", "child process"});
  return std::ranges::any_of(kWords, [&](std::string_view word) { return line.contains(word); });
}

// "process 4001", "subprocess 4001", "pid: 4001", "pid=4001": the number, whole, behind a word for a process.
bool names_process(std::string_view line, std::string_view number) {
  for (std::size_t at = line.find(number); at != std::string_view::npos; at = line.find(number, at + 1)) {
    const std::size_t end = at + number.size();
    if (end < line.size() && kDigits.contains(line[end])) continue;
    const std::string_view before = line.substr(0, at).substr(0, line.substr(0, at).find_last_not_of(" :=#[(") + 1);
    if (before.size() < at && (before.ends_with("process") || before.ends_with("pid"))) return true;
  }
  return false;
}

// "1: step 3 loss 0.5": the label of `srun --label`.
std::optional<int> label_of(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::size_t digits = std::min(line.find_first_not_of(kDigits), line.size());
  return line.substr(digits).starts_with(": ") ? base::parse_number<int>(line.substr(0, digits)) : std::nullopt;
}

// Numbers before lines are labels where most lines have one and they come again: those of a list or of grep do not.
class Labels {
 public:
  void add(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    ++lines_;
    const auto label = label_of(line);
    if (!label) return;
    ++labelled_;
    if (++counts_[*label] == 1 && *label > 0 && later_.empty()) later_ = line;
  }
  // A line of a task that is not the first.
  std::string_view find() const {
    const bool come_again = std::ranges::any_of(counts_, [](const auto& one) { return one.second > 1; });
    const bool are_ranks = counts_.size() > 1 && counts_.contains(0) && counts_.contains(1);
    return are_ranks && come_again && labelled_ * 2 > lines_ ? later_ : std::string_view();
  }

 private:
  std::map<int, std::int64_t> counts_;
  std::int64_t lines_ = 0, labelled_ = 0;
  std::string_view later_;
};

// The first line of which, in lower case, the test holds.
std::optional<model::SourceLine> find_line(const model::TextFile& file, const auto& holds) {
  for (std::string_view left = file.sample; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    if (holds(lowered(line))) return model::SourceLine{file.name, 0, std::string(line)};
    left.remove_prefix(std::min(line.size() + 1, left.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<model::SourceLine> find_launcher_line(const model::TextFile& file) {
  Labels labels;
  std::string_view left = file.sample;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    const std::string low = lowered(line);
    if (is_of_launcher(low) || is_of_processes(low) || counts_tasks(low))
      return model::SourceLine{file.name, 0, std::string(line)};
    labels.add(line);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  const std::string_view labelled = labels.find();
  return labelled.empty() ? std::nullopt : std::optional(model::SourceLine{file.name, 0, std::string(labelled)});
}

std::optional<model::SourceLine> find_line_of_own_process(const model::TextFile& file, std::int64_t pid) {
  const std::string number = std::to_string(pid);
  return find_line(file, [&](const std::string& low) { return is_of_parent(low) && names_process(low, number); });
}

std::optional<FailedRank> find_failed_rank(const model::TextFile& file) {
  const auto at = find_line(file, [](const std::string& low) {
    return (low.contains("returned non-zero exit status") || low.contains("failed (exitcode: ")) &&
           largest_behind(low, "local_rank").has_value();
  });
  if (!at) return std::nullopt;
  return FailedRank{largest_behind(lowered(at->text), "local_rank").value_or(0), *at};
}

bool is_started_by_slurm(const model::TextFile& file) {
  return mentions(lowered(file.sample), {"srun", "slurm", "#sbatch"});
}

}  // namespace vramfit::doctor
