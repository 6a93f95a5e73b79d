// `simrun completion SHELL`. Sub-commands and options are asked of simrun itself (--help), so they cannot go stale.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/sub_commands.h"

namespace simrun::cli {

namespace {

constexpr const char* kBash = R"bash(# bash completion for simrun: source <(simrun completion bash)
_simrun_options() { simrun "$@" --help 2>/dev/null | grep -oE -- '^ +(-[a-z],)?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+'; }
_simrun_commands() { simrun --help 2>/dev/null | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
_simrun_formats() { simrun convert --help 2>/dev/null | sed -n "/^Formats for $1/,/^[^ ]/s/^  \([a-z0-9-]*\) .*/\1/p"; }
_simrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} i command=
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else COMPREPLY=($(compgen -c -f -- "$cur")); fi
      return
    fi
  done
  if ((COMP_CWORD > 1)) && [[ " $(_simrun_commands | tr '\n' ' ') " == *" ${COMP_WORDS[1]} "* ]]; then command=${COMP_WORDS[1]}; fi
  case $cur in
    -*) COMPREPLY=($(compgen -W "$(_simrun_options $command) --" -- "$cur")); return ;;
  esac
  case $command${COMP_WORDS[COMP_CWORD-1]} in
    convert--from | convert--to) COMPREPLY=($(compgen -W "$(_simrun_formats ${COMP_WORDS[COMP_CWORD-1]})" -- "$cur")); return ;;
  esac
  case ${COMP_WORDS[COMP_CWORD-1]} in
    --mode) COMPREPLY=($(compgen -W "null trace sim" -- "$cur")); return ;;
    --stats) COMPREPLY=($(compgen -W "engine" -- "$cur")); return ;;
    completion) COMPREPLY=($(compgen -W "bash zsh" -- "$cur")); return ;;
  esac
  if ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W "$(_simrun_commands)" -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _simrun simrun
)bash";

}  // namespace

int completion_command(const Words& words) {
  CommandLine line("simrun completion", "simrun completion bash|zsh",
                   "Prints a completion script, for example: source <(simrun completion bash)");
  std::string shell;
  line.app().add_option("SHELL", shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  line.parse(words);
  if (shell == "zsh") fmt::print("autoload -U +X bashcompinit && bashcompinit\n");
  fmt::print("{}", kBash);
  return 0;
}

}  // namespace simrun::cli
