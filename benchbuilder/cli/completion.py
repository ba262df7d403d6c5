"""``benchbuild completion``: scripts that complete words in bash, zsh and fish; they ask `complete_words`."""

from __future__ import annotations

import argparse
import sys

from rich.console import Console

SCRIPTS = {
    "bash": r"""_benchbuild() {
  local line="${COMP_LINE:0:COMP_POINT}" words found current
  read -r -a words <<< "$line"
  [[ "$line" == *" " ]] && words+=("")
  current="${words[${#words[@]}-1]}"
  mapfile -t found < <(benchbuild completion --words "${words[@]:1}" 2>/dev/null)
  if [[ "$current" == [\"\']* ]]; then
    found=("${found[@]#?}")
  elif [[ "$current" == *=* && "$COMP_WORDBREAKS" == *=* ]]; then
    found=("${found[@]#"${current%"${current##*=}"}"}")
  fi
  [[ "${found[*]}" == *[=.]* || "$current" == *[[]* ]] && compopt -o nospace
  COMPREPLY=("${found[@]}")
}
complete -o default -F _benchbuild benchbuild
""",
    "zsh": r"""#compdef benchbuild
_benchbuild() {
  local -a found open closed
  found=("${(@f)$(benchbuild completion --words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z "${found[1]}" ]]; then
    compset -P '*='
    _files
    return
  fi
  [[ "${words[CURRENT]}" == [\"\']* ]] && found=("${found[@]#?}")
  open=("${(@M)found:#*([=.]|\[*)}")
  closed=("${(@)found:#*([=.]|\[*)}")
  [[ -n "${open[1]}" ]] && compadd -QU -S '' -- "${open[@]}"
  [[ -n "${closed[1]}" ]] && compadd -QU -- "${closed[@]}"
}
if [[ "$funcstack[1]" = _benchbuild ]]; then _benchbuild "$@"; else compdef _benchbuild benchbuild; fi
""",
    "fish": r"""function __benchbuild_words
  set -l token (commandline -ct)
  set -l found (benchbuild completion --words (commandline -opc)[2..-1] "$token" 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    set -l key (string match -r '^[^=]*=' -- "$token")
    string replace -r '^' "$key" -- (complete -C "__benchbuild_file "(string replace -r '^[^=]*=' '' -- "$token"))
  end
end
complete -c benchbuild -f -a '(__benchbuild_words)'
""",
}


def run(args: argparse.Namespace, console: Console) -> int:  # noqa: ARG001
    """Print the script."""
    sys.stdout.write(SCRIPTS[args.shell])
    return 0
