#include "cli/first_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/shell_word.h"
#include "base/subprocess.h"

namespace vramfit::cli {

namespace {

// Advice has to work as it stands, so it names a card; whose card it is can't be known.
constexpr const char* kSomeCard = "rtx3060";
constexpr const char* kWhichCard = "\n  rtx3060 stands for your card: `vramfit gpus` lists them";

bool is_script(std::string_view word) { return word.ends_with(".py"); }

void add_python(std::vector<std::string>& job) {
  if (job.empty() || !is_script(job.front())) return;
  const bool has_python = base::find_program("python", base::current_environment()).has_value();
  job.insert(job.begin(), has_python ? "python" : "python3");
}

}  // namespace

std::string in_shell(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += " " + base::quote_for_shell(word);
  return text;
}

std::string with_dashes(std::vector<std::string> own, std::vector<std::string> job, bool needs_card) {
  add_python(job);
  if (needs_card) own.insert(own.end(), {"--gpu", kSomeCard});
  return fmt::format("vramfit{} --{}{}", in_shell(own), in_shell(job), needs_card ? kWhichCard : "");
}

std::string explain_file(const std::string& word) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(word, none)) return "";
  const std::string next =
      is_script(word) ? with_dashes({"run"}, {word}, true) : fmt::format("vramfit doctor{}", in_shell({word}));
  return fmt::format("there is no verb \"{}\", it is a file\n  {}", word, next);
}

}  // namespace vramfit::cli
