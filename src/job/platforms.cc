#include "job/platforms.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "job/platforms_text.h"

namespace vramfit::job {

namespace {

// "2.12.1+cu130" -> {2, 12}.
std::pair<int, int> line_of(std::string_view version) {
  std::pair<int, int> line{0, 0};
  const char* const end = version.data() + version.size();
  const auto [at, problem] = std::from_chars(version.data(), end, line.first);
  if (problem == std::errc() && at != end && *at == '.') std::from_chars(at + 1, end, line.second);
  return line;
}

std::string say(std::pair<int, int> line) { return fmt::format("{}.{}", line.first, line.second); }

TorchRelease read_release(const nlohmann::json& row) {
  TorchRelease release;
  release.version = row.at("version");
  release.cuda = row.at("cuda");
  release.torchvision = row.at("torchvision");
  release.triton = row.at("triton");
  release.sympy = row.at("sympy");
  release.python_first = row.at("python").at(0);
  release.python_last = row.at("python").at(1);
  release.architectures = row.at("architectures");
  release.is_first_class = row.at("tested") == "throughout";
  return release;
}

bool has_wheel_for(const TorchRelease& release, int python_minor) {
  return python_minor >= release.python_first && python_minor <= release.python_last;
}

void add_unknown_torch(const Interpreter& interpreter, const Platforms& known, std::vector<std::string>& said) {
  if (interpreter.torch.empty() || known.torch.empty()) return;
  const auto line = line_of(interpreter.torch);
  const auto newest = line_of(known.torch.front().version), oldest = line_of(known.torch.back().version);
  const auto of_line = std::ranges::find(known.torch, line, [](const auto& row) { return line_of(row.version); });
  if (of_line != known.torch.end()) {
    if (interpreter.torch.substr(0, interpreter.torch.find('+')) != of_line->version) {
      said.push_back(fmt::format("torch {} is not a release that vramfit was tested with: {} is", interpreter.torch,
                                 of_line->version));
    } else if (!interpreter.cuda.empty() && interpreter.cuda != of_line->cuda) {
      said.push_back(fmt::format("torch {} is a build for CUDA {}: vramfit was tested with that for CUDA {}",
                                 interpreter.torch, interpreter.cuda, of_line->cuda));
    }
  } else if (line > newest) {
    said.push_back(
        fmt::format("torch {} is newer than those that this vramfit knows ({} to {}): what it needs of the driver, and "
                    "what the hooks need of it, is untested",
                    interpreter.torch, say(oldest), say(newest)));
  } else if (line < oldest) {
    said.push_back(fmt::format("torch {} is older than those that this vramfit is tested with ({} to {})",
                               interpreter.torch, say(oldest), say(newest)));
  } else {
    said.push_back(fmt::format("torch {} is not a release that vramfit was tested with: older and newer ones are",
                               interpreter.torch));
  }
}

void add_unknown_python(const Interpreter& interpreter, const Platforms& known, std::vector<std::string>& said) {
  const auto pythons = find_pythons({}, known);
  if (interpreter.python.empty() || !pythons) return;
  const auto line = line_of(interpreter.python);
  if (line > std::pair(3, pythons->last)) {
    said.push_back(
        fmt::format("Python {} is newer than those that this vramfit knows ({}): what the hooks and the recorder need "
                    "of it is untested",
                    interpreter.python, to_string(*pythons)));
  } else if (line < std::pair(3, pythons->first)) {
    said.push_back(fmt::format("Python {} is older than those that this vramfit is tested with ({})",
                               interpreter.python, to_string(*pythons)));
  }
}

std::string say_cuda(int release) { return fmt::format("{}.{}", release / 1000, release % 1000 / 10); }

}  // namespace

Platforms parse_platforms(std::string_view text) {
  const auto file = nlohmann::json::parse(text);
  Platforms platforms;
  for (const auto& row : file.at("torch")) platforms.torch.push_back(read_release(row));
  for (const auto& entry : file.at("cuda")) platforms.cuda_majors.push_back(entry.at("major"));
  std::ranges::sort(platforms.cuda_majors);
  for (const auto& [cuda, driver] : file.at("drivers").items()) {
    const auto [major, minor] = line_of(cuda);
    platforms.drivers.emplace_back(1000 * major + 10 * minor, driver.get<std::string>());
  }
  std::ranges::sort(platforms.drivers, std::greater<>());
  return platforms;
}

const Platforms& platforms() {
  static const Platforms known = parse_platforms(kPlatformsText);
  return known;
}

std::string to_string(PythonRange range) { return fmt::format("3.{} to 3.{}", range.first, range.last); }

std::optional<PythonRange> find_pythons(const std::vector<model::ComputeCapability>& cards, const Platforms& known) {
  std::optional<PythonRange> range;
  for (const TorchRelease& release : known.torch) {
    const auto built = parse_architectures(release.architectures);
    if (!std::ranges::all_of(cards, [&](const auto& card) { return has_kernels_for(built, card); })) continue;
    if (!range) range = {release.python_first, release.python_last};
    range = {std::min(range->first, release.python_first), std::max(range->last, release.python_last)};
  }
  return range;
}

std::vector<int> rank_pythons(const Platforms& known) {
  const auto range = find_pythons({}, known).value_or(PythonRange{0, -1});
  std::vector<std::pair<std::int64_t, int>> counted;  // releases with a wheel for it, the minor version
  for (int minor = range.first; minor <= range.last; ++minor) {
    counted.emplace_back(std::ranges::count_if(known.torch, [&](const auto& one) { return has_wheel_for(one, minor); }),
                         minor);
  }
  std::ranges::sort(counted, std::greater<>());
  std::vector<int> minors;
  for (const auto& [count, minor] : counted) minors.push_back(minor);
  return minors;
}

base::Result<void> check_cuda(const Interpreter& interpreter, const Platforms& known) {
  if (interpreter.cuda.empty()) return {};
  const int major = line_of(interpreter.cuda).first;
  if (std::ranges::find(known.cuda_majors, major) != known.cuda_majors.end()) return {};
  const std::string what = interpreter.torch.empty() ? "what the job imports" : "torch " + interpreter.torch;
  return base::fail(base::ErrorCode::kUnsupported,
                    fmt::format("{} is built for CUDA {}, and this vramfit stands in for the libraries of CUDA {}",
                                what, interpreter.cuda, fmt::join(known.cuda_majors, " and ")),
                    interpreter.program.string(),
                    fmt::format("a release that is known, as --torch {}", first_class(known).version));
}

int cuda_major_of_wheel(int torch_major, int torch_minor, const Platforms& known) {
  const std::pair line(torch_major, torch_minor);
  const auto found = std::ranges::find_if(known.torch, [&](const auto& row) { return line_of(row.version) <= line; });
  return line_of((found == known.torch.end() ? known.torch.back() : *found).cuda).first;
}

int count_cuda(const std::string& cuda, const Platforms& known) {
  if (cuda.empty()) return count_cuda(first_class(known).cuda, known);
  const auto [major, minor] = line_of(cuda);
  return major * 1000 + minor * 10;
}

const std::pair<int, std::string>& find_driver(int cuda, const Platforms& known) {
  const auto found = std::ranges::find_if(known.drivers, [&](const auto& driver) { return driver.first <= cuda; });
  return found == known.drivers.end() ? known.drivers.back() : *found;
}

std::string describe_unknown_driver(const std::string& cuda, const Platforms& known) {
  const int wanted = count_cuda(cuda, known);
  const auto& [release, name] = find_driver(wanted, known);
  if (release == wanted) return "";
  const std::string what = wanted > known.drivers.front().first
                               ? fmt::format("CUDA {} is newer than those whose driver this vramfit knows", cuda)
                               : fmt::format("this vramfit does not know the driver of CUDA {}", cuda);
  return fmt::format("{}: the job is told of driver {}, that of CUDA {}", what, name, say_cuda(release));
}

std::vector<std::string> describe_unknown(const Interpreter& interpreter, const Platforms& known) {
  std::vector<std::string> said;
  add_unknown_torch(interpreter, known, said);
  add_unknown_python(interpreter, known, said);
  return said;
}

std::string describe_later_torch(int torch_major, int torch_minor, const Platforms& known) {
  const auto newest = line_of(known.torch.front().version), oldest = line_of(known.torch.back().version);
  if (std::pair(torch_major, torch_minor) <= newest) return "";
  return fmt::format(
      "torch {}.{} is newer than those that this vramfit knows ({} to {}): its allocator may follow other rules",
      torch_major, torch_minor, say(oldest), say(newest));
}

const TorchRelease& first_class(const Platforms& known) {
  return *std::ranges::find_if(known.torch, &TorchRelease::is_first_class);
}

std::pair<int, int> first_class_torch(const Platforms& known) { return line_of(first_class(known).version); }

std::vector<std::string> describe_untested(const Interpreter& interpreter, const Platforms& known) {
  std::vector<std::string> said = describe_unknown(interpreter, known);
  if (std::string driver = describe_unknown_driver(interpreter.cuda, known); !driver.empty())
    said.push_back(std::move(driver));
  return said;
}

}  // namespace vramfit::job
