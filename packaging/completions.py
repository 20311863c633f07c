#!/usr/bin/env python3
"""Writes completions of trawl's commands and options: trawl.bash, _trawl (zsh), trawl.fish.

    completions.py TRAWL DIRECTORY
"""

import pathlib
import sys

import help_reference

# What can follow these options.
VALUES = {"--scope": ["page", "prefix", "host", "domain", "any"]}

# The words of the line before the cursor that are commands decide what can follow.
BASH = """# Completions of trawl for bash.
_trawl() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} last=${{COMP_WORDS[COMP_CWORD - 1]}} path= i=1 next
  [[ ${{COMP_WORDS[1]}} == help ]] && ((COMP_CWORD > 1)) && i=2  # trawl help COMMAND
  for ((; i < COMP_CWORD; ++i)); do
    next="${{path:+$path }}${{COMP_WORDS[i]}}"
    case $next in
      {paths}) path=$next ;;
    esac
  done
  local commands= options=
  case $path in
{cases}
  esac
  case $last in
{values}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  else
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}}
complete -F _trawl trawl
"""

ZSH = """#compdef trawl
# Completions of trawl for zsh. The variable "path" is zsh's own.
_trawl() {{
  local chosen= next i
  local -a commands options
  i=2
  [[ $words[2] == help ]] && (( CURRENT > 2 )) && i=3  # trawl help COMMAND
  for ((; i < CURRENT; ++i)); do
    next="${{chosen:+$chosen }}${{words[i]}}"
    case $next in
      {paths}) chosen=$next ;;
    esac
  done
  case $chosen in
{cases}
  esac
  case $words[CURRENT-1] in
{values}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}}
_trawl "$@"
"""


def names_of(command):
    return [name for option in command.options for name in option["names"]]


def patterns(program):
    return "|".join(f"'{' '.join(each.path)}'" for each in program.all() if each.path)


def bash(program):
    cases = []
    for each in program.all():
        commands = " ".join(sub.path[-1] for sub in each.commands)
        cases.append(f"    '{' '.join(each.path)}') commands='{commands}' options='{' '.join(names_of(each))}' ;;")
    values = [f"    {name}) COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$word\")); return ;;"
              for name, words in VALUES.items()]
    return BASH.format(paths=patterns(program), cases="\n".join(cases), values="\n".join(values))


def zsh_item(name, text):
    """One element of a list of _describe: 'name:text'."""
    item = name.replace(":", "\\:") + ":" + first_line(text)
    return "'" + item.replace("'", "'\\''") + "'"


def first_line(text):
    return text.strip().split("\n")[0]


def zsh(program):
    cases = []
    for each in program.all():
        commands = " ".join(zsh_item(sub.path[-1], sub.summary) for sub in each.commands)
        options = " ".join(zsh_item(name, option.get("text", "")) for option in each.options for name in option["names"])
        cases.append(f"    '{' '.join(each.path)}') commands=({commands}); options=({options}) ;;")
    values = [f"    {name}) compadd {' '.join(words)}; return ;;" for name, words in VALUES.items()]
    return ZSH.format(paths=patterns(program), cases="\n".join(cases), values="\n".join(values))


def fish_text(text):
    return "'" + first_line(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish(program):
    lines = ["# Completions of trawl for fish."]
    top = " ".join(each.path[-1] for each in program.commands)
    for each in program.all():
        if not each.path:
            condition = f"not __fish_seen_subcommand_from {top}"
        else:
            condition = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in each.path)
        if each.path and each.commands:
            inner = " ".join(sub.path[-1] for sub in each.commands)
            condition += f"; and not __fish_seen_subcommand_from {inner}"
        start = f"complete -c trawl -n '{condition}'"
        for sub in each.commands:
            lines.append(f"{start} -f -a {sub.path[-1]} -d {fish_text(sub.summary)}")
        for option in each.options:
            flags = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in option["names"])
            value = " -r" if option.get("value") else ""
            words = [word for name in option["names"] for word in VALUES.get(name, [])]
            if words:
                value = f" -x -a '{' '.join(words)}'"
            lines.append(f"{start}{flags}{value} -d {fish_text(option.get('text', ''))}")
    lines.append(f"complete -c trawl -n '__fish_seen_subcommand_from help' -f -a '{top}'")
    return "\n".join(lines) + "\n"


def main():
    program, _ = help_reference.of_program(sys.argv[1])
    directory = pathlib.Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    for name, make in (("trawl.bash", bash), ("_trawl", zsh), ("trawl.fish", fish)):
        (directory / name).write_text(make(program), encoding="utf-8")


if __name__ == "__main__":
    main()
