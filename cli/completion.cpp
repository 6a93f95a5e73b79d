#include "cli/completion.h"

#include "base/user_error.h"

namespace simrun::cli {

namespace {

constexpr const char* kBash = R"(# bash completion for simrun: source <(simrun completion bash)
_simrun() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then _command_offset $((i + 1)); else COMPREPLY=($(compgen -c -f -- "$cur")); fi
      return
    fi
  done
  case $prev in
    --mode) COMPREPLY=($(compgen -W "null trace sim" -- "$cur")); return ;;
    --stats) COMPREPLY=($(compgen -W "engine" -- "$cur")); return ;;
    completion) COMPREPLY=($(compgen -W "bash zsh" -- "$cur")); return ;;
    -c|--config|config|-j|--json) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  COMPREPLY=($(compgen -W "run config completion --config --json --quiet --mode --aslr --quantum --stats --ring-size --code-cache
    --max-superblock --no-link --no-elide --verify --force-safe-points --discard --help --version --" -- "$cur"))
}
complete -o filenames -F _simrun simrun
)";

constexpr const char* kZsh = R"(#compdef simrun
# zsh completion for simrun: simrun completion zsh > a directory of $fpath, as _simrun
_simrun() {
  _arguments \
    '(-c --config)'{-c,--config}'[machine to simulate]:machine:_files -g "*.yaml"' \
    '(-j --json)'{-j,--json}'[write the results as JSON]:file:_files' \
    '(-q --quiet)'{-q,--quiet}'[no report, no progress line]' \
    '--mode[what to do]:mode:(null trace sim)' \
    '--aslr[keep address-space randomisation on]' \
    '--quantum[instructions of a turn]:instructions:' \
    '--stats[also report]:what:(engine)' \
    '--ring-size[stream memory of one thread]:size:' \
    '--code-cache[size of the code cache]:size:' \
    '--max-superblock[longest superblock]:instructions:' \
    '--no-link[no direct links]' '--no-elide[words for every operand]' '--verify[superblocks of one instruction]' \
    '--force-safe-points[slow path of every N-th check]:N:' '--discard[throw the stream away]' \
    '--help[help]' '--version[version]' \
    '1:command:(run config completion)' \
    '*::program:_normal'
}
compdef _simrun simrun
)";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  throw UserError("no completion for " + shell + ": bash or zsh", 2);
}

}  // namespace simrun::cli
