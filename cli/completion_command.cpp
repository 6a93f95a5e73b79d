// `simrun completion SHELL`. Commands, options and the words that they take are those of the command lines themselves
// (kDescribeOptions), so they cannot go stale; nothing of simrun runs when a word is completed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/command_line.h"
#include "cli/sub_commands.h"
#include "configs/read_machine.h"
#include "configs/read_suite.h"

namespace simrun::cli {

namespace {

// Behind it, in the script: _simrun_commands, _simrun_machines, _simrun_suites; _simrun_options COMMAND; _simrun_type COMMAND/OPTION
// prints what the option takes, "-" for a flag, nothing if there is no such option. COMMAND/: a word by itself.
constexpr const char* kFunctions = R"bash(
# Types are words in small letters, and names of kinds of words in capitals, with | between them.
_simrun_words() {
  local word IFS=$' \t\n' kind
  for kind in ${1//|/ }; do
    case $kind in
      FILE) IFS=$'\n'; COMPREPLY+=($(compgen -f -- "$2")) ;;
      DIR) IFS=$'\n'; COMPREPLY+=($(compgen -d -- "$2")) ;;
      MACHINE) COMPREPLY+=($(compgen -W "$_simrun_machines" -- "$2")); IFS=$'\n'; COMPREPLY+=($(compgen -f -- "$2")) ;;
      SUITE) COMPREPLY+=($(compgen -W "$_simrun_suites" -- "$2")); IFS=$'\n'; COMPREPLY+=($(compgen -f -- "$2")) ;;
      [a-z]*) COMPREPLY+=($(compgen -W "$kind" -- "$2")) ;;
    esac
    IFS=$' \t\n'
  done
}
# Sets command; first: the word behind it; program: that at which the program begins, if the word to be completed is one
# of the program's.
_simrun_read() {
  local i word type batch=
  command=run first=1 program=
  while [[ ${COMP_WORDS[first]} == -q || ${COMP_WORDS[first]} == --quiet ]]; do first=$((first + 1)); done
  if ((first < COMP_CWORD)) && [[ " $_simrun_commands " == *" ${COMP_WORDS[first]} "* ]]; then
    command=${COMP_WORDS[first]}
    first=$((first + 1))
  fi
  for ((i = first; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    # Behind a batch's: options of what it runs.
    if [[ $word == -- && $command == batch ]]; then command=run; batch=1; continue; fi
    if [[ $word == -- ]]; then i=$((i + 1)); break; fi
    if [[ $word == -* || $word == "=" ]]; then
      type=$(_simrun_type "$command/$word")
      [[ -n $type && $type != - && ${COMP_WORDS[i+1]} != "=" ]] && i=$((i + 1))
      [[ ${COMP_WORDS[i+1]} == "=" ]] && i=$((i + 2))
    elif [[ -z $batch && $(_simrun_type "$command/PROGRAM") == PROGRAM ]]; then
      break
    fi
  done
  if ((i <= COMP_CWORD)) && [[ -z $batch ]] && [[ ${COMP_WORDS[i-1]} == -- || ( $i -lt $COMP_CWORD && ${COMP_WORDS[i]} != -* ) ]]; then
    program=$i
  fi
}
_simrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command first program type
  COMPREPLY=()
  _simrun_read
  # Where the program begins, its own completion does.
  if [[ -n $program ]]; then
    if declare -F _comp_command_offset >/dev/null; then _comp_command_offset $program; return; fi
    if declare -F _command_offset >/dev/null; then _command_offset $program; return; fi
    local IFS=$'\n'
    ((program == COMP_CWORD)) && COMPREPLY=($(compgen -c -- "$cur"))
    COMPREPLY+=($(compgen -f -- "$cur"))
    return
  fi
  if [[ $cur == "=" ]]; then cur=; elif [[ $previous == "=" ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  type=$(_simrun_type "$command/$previous")
  if [[ $previous == -* && -n $type && $type != - ]]; then _simrun_words "$type" "$cur"; return; fi
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$(_simrun_options $command)" -- "$cur")); return; fi
  if ((COMP_CWORD == first)) && [[ $command == run ]]; then COMPREPLY=($(compgen -W "$_simrun_commands" -- "$cur")); fi
  if [[ $(_simrun_type "$command/PROGRAM") == PROGRAM ]]; then COMPREPLY+=($(compgen -c -- "$cur")); fi
  _simrun_words "$(_simrun_type "$command/")" "$cur"
}
)bash";

constexpr const char* kBash = "complete -o filenames -F _simrun simrun\n";

// Programs are zsh's own affair. It does not split words at "=", as bash does.
constexpr const char* kZsh = R"zsh(
_simrun_zsh() {
  local -a COMP_WORDS
  local COMP_CWORD=$((CURRENT - 1)) command first program
  COMP_WORDS=("${words[@]}")
  emulate sh -c _simrun_read
  if [[ -n $program ]]; then
    shift $program words
    ((CURRENT -= program))
    _normal
    return
  fi
  if [[ $PREFIX == --*=* ]]; then
    words[CURRENT]=("${words[CURRENT]%%=*}" "=" "${words[CURRENT]#*=}")
    ((CURRENT += 2))
    compset -P 1 '*='
  fi
  _bash_complete -o filenames -F _simrun
}
compdef _simrun_zsh simrun
)zsh";

struct Option {
  std::vector<std::string> names;
  std::string type;  // empty: a flag
};

std::vector<Option> options_of(const SubCommand& command) {
  try {
    command.run({kDescribeOptions});
  } catch (const TextWanted& descriptions) {
    std::vector<Option> options;
    std::istringstream lines(descriptions.text);
    for (std::string line; std::getline(lines, line);) {
      const size_t tab = line.find('\t');
      std::istringstream names(line.substr(0, tab));
      Option& option = options.emplace_back();
      for (std::string name; names >> name;) option.names.push_back(name);
      option.type = line.substr(tab + 1);
    }
    return options;
  }
  return {};
}

// The label of a case: the command with the option, or with nothing for a word by itself.
std::string label(const SubCommand& command, const std::string& name) {
  return fmt::format("{}/{}", command.name, name.starts_with("-") || name == "PROGRAM" ? name : "");
}

std::string script() {
  std::vector<std::string> commands, machines = configs::machine_names();
  machines.push_back("host");
  std::string types = "_simrun_type() {\n  case $1 in\n", offers = "_simrun_options() {\n  case $1 in\n";
  for (const SubCommand& command : sub_commands()) {
    commands.emplace_back(command.name);
    std::vector<std::string> dashed;
    for (const Option& option : options_of(command)) {
      std::vector<std::string> labels;
      for (const std::string& name : option.names) {
        labels.push_back(label(command, name));
        if (name.starts_with("-")) dashed.push_back(name);
      }
      types += fmt::format("    {}) echo '{}' ;;\n", fmt::join(labels, "|"), option.type.empty() ? "-" : option.type);
    }
    offers += fmt::format("    {}) echo '{}' ;;\n", command.name, fmt::join(dashed, " "));
  }
  return fmt::format("_simrun_commands='{}'\n_simrun_machines='{}'\n_simrun_suites='{}'\n{}  esac\n}}\n{}  esac\n}}\n",
                     fmt::join(commands, " "), fmt::join(machines, " "), fmt::join(configs::suite_names(), " "), offers, types) +
         (kFunctions + 1);
}

}  // namespace

int completion_command(const Words& words) {
  CommandLine line("simrun completion", "simrun completion bash|zsh",
                   "Prints a completion script, for example: source <(simrun completion bash)");
  std::string shell;
  line.app()
      .add_option("SHELL", shell, "bash or zsh")
      ->required()
      ->transform(one_of({"bash", "zsh"}, ChoiceBecomes::kWord))
      ->type_name("bash|zsh");
  line.parse(words);
  fmt::print("# {0} completion for simrun: source <(simrun completion {0})\n", shell);
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  fmt::print("{}{}", script(), shell == "zsh" ? kZsh + 1 : kBash);
  return 0;
}

}  // namespace simrun::cli
