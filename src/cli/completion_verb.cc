// vramfit completion: the scripts that make shells complete a command line, and what they ask of the program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "app/catalogue.h"
#include "app/estimate.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "grammar/complete.h"
#include "history/history.h"

namespace vramfit::cli {

namespace {

using grammar::Candidate;

// What stands for names of files in what `complete` prints.
constexpr std::string_view kFiles = ":files";

// bash parts words at : and =, and puts what it is given behind the last of them.
constexpr std::string_view kBash = R"sh(# vramfit completion for bash: eval "$(vramfit completion bash)"
_vramfit() {
  local line=${COMP_LINE:0:COMP_POINT} IFS=$' \t\n' candidate word cut
  local -a words=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  cut=${word%"${word##*[:=]}"}
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == :files ]]; then
      compopt -o default 2>/dev/null
    elif [[ -n $candidate ]]; then
      COMPREPLY+=("${candidate#"$cut"}")
      [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
    fi
  done < <("$1" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _vramfit vramfit
)sh";

constexpr std::string_view kZsh = R"sh(#compdef vramfit
# vramfit completion for zsh: eval "$(vramfit completion zsh)", after compinit
_vramfit() {
  local line word help files=
  local -a candidates names
  while IFS=$'\t' read -r word help; do
    if [[ $word == :files ]]; then
      files=1
    elif [[ $word == *= ]]; then
      names+=("$word")
    elif [[ -n $word ]]; then
      candidates+=("${word//:/\\:}${help:+:$help}")
    fi
  done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe vramfit candidates
  (( $#names )) && _describe vramfit names -S ""
  [[ -n $files && $PREFIX == -*=* ]] && compset -P '*='
  [[ -n $files ]] && _files
}
(( $+functions[compdef] )) && compdef _vramfit vramfit
)sh";

constexpr std::string_view kFish = R"sh(# vramfit completion for fish: vramfit completion fish | source
function __vramfit_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] complete -- $words[2..-1] "$typed" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$typed"
        else
            echo $line
        end
    end
end
complete -c vramfit -f -a '(__vramfit_complete)'
)sh";

std::vector<Candidate> cards() {
  std::vector<Candidate> all;
  const auto catalogue = app::load_catalogue();
  if (!catalogue) return all;
  for (const model::Card& card : *catalogue) all.push_back({card.key, to_string(card.memory)});
  for (const model::Card& card : *catalogue) {
    for (const model::MigProfile& profile : card.mig) {
      all.push_back({fmt::format("{}:{}", card.key, profile.name), to_string(profile.memory)});
    }
  }
  return all;
}

std::vector<Candidate> networks() {
  std::vector<Candidate> all;
  for (std::string& name : app::network_names().value_or(std::vector<std::string>()))
    all.push_back({std::move(name), ""});
  return all;
}

std::vector<Candidate> runs() {
  constexpr std::int64_t kMost = 50;
  std::vector<Candidate> all;
  auto history = history::History::open();
  if (!history) return all;
  const auto listed = history->store().list({.most = kMost});
  if (!listed) return all;
  for (const model::StoredRun& run : *listed) {
    all.push_back(
        {std::to_string(run.number), fmt::format("{} {}", run.start.verb, fmt::join(run.start.command, " "))});
  }
  return all;
}

// A line each: the word, a tab, what it is. A shell shows one line of it.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char letter) { return letter < ' '; }, ' ');
  constexpr std::size_t kMost = 100;
  if (text.size() > kMost)
    text.resize(text.find_last_of(' ', kMost) == std::string::npos ? 0 : text.find_last_of(' ', kMost));
  return text;
}

int print_candidates(const grammar::VerbGrammar& all, const Command& words) {
  const grammar::Completion completion = grammar::complete(all, words, {cards, networks, runs});
  std::string text;
  for (const Candidate& candidate : completion.candidates) {
    text += candidate.help.empty() ? candidate.word + "\n"
                                   : fmt::format("{}\t{}\n", candidate.word, one_line(candidate.help));
  }
  print(completion.files ? text + std::string(kFiles) + "\n" : text);
  return 0;
}

}  // namespace

Verb add_completion_verb(const Parser& parser) {
  auto shell = std::make_shared<std::string>();
  const Parser verb =
      parser.add_verb("completion", "Print the script with which a shell completes verbs, options, cards, runs");
  verb.add_option("shell", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  verb.examples({"eval \"$(vramfit completion bash)\"                # in ~/.bashrc",
                 "vramfit completion fish > ~/.config/fish/completions/vramfit.fish"});
  return {verb, [shell](const Command&) {
            print(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish);
            return 0;
          }};
}

Verb add_complete_verb(const Parser& parser, std::function<grammar::VerbGrammar()> all) {
  const Parser verb = parser.add_verb("complete", "What may stand behind the words after --");
  verb.hidden();
  return {verb, [all = std::move(all)](const Command& words) { return print_candidates(all(), words); }};
}

}  // namespace vramfit::cli
