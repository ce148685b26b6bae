#include "app/fit_answer.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "app/fit_summary.h"
#include "ingest/plan_file.h"

namespace vramfit::app {

void write_answer(const FitRequest& request, model::FitResult& result) {
  const auto& path = request.plan_out;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !ingest::read_plan(path)) {
    result.reason =
        fmt::format("{} exists and is not a plan: nothing was written; --plan-out names another file", path.string());
    return;
  }
  if (auto written = ingest::write_plan(path, result.plans.front().plan); !written) {
    result.reason = to_string(written.error());
    return;
  }
  result.plan_file = path.string();
  std::string command;
  for (const std::string& argument : request.run.command) command += " " + quote_for_shell(argument);
  const std::string file = quote_for_shell(result.plan_file);
  result.prove_command =
      fmt::format("vramfit run --gpu {} --plan {} --{}", quote_for_shell(request.gpu), file, command);
  result.train_command = fmt::format("vramfit run --gpu real --steps all --plan {} --{}", file, command);
}

}  // namespace vramfit::app
