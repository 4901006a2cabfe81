/**
 * The script for bash. It needs neither the package bash-completion nor a bash newer than macOS's 3.2, where names of files are completed without
 * the slash after directories (`compopt` is missing).
 */
import { type CompletedCommand, type CompletedOption, mark } from "./completed-command.ts"

/** The script. */
export const bashScript = (commands: ReadonlyArray<CompletedCommand>): string => `\
# Completions of reel for bash, made by "reel completions bash".

_reel() {
  local current=\${COMP_WORDS[COMP_CWORD]} option=\${COMP_WORDS[COMP_CWORD - 1]} command=\${COMP_WORDS[1]}
  local options= values= words= places= given index
  COMPREPLY=()
  # bash takes --name=value apart into three words.
  if [[ $current == = ]]; then
    current=
  elif [[ $option == = ]]; then
    option=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    _reel_offer "${[...commands.flatMap(({ names }) => names), "--help", "--version"].join(" ")}"
    return
  fi
  for ((index = 2; index < COMP_CWORD; index++)); do
    given=\${COMP_WORDS[index]}
    # After -- there are no options any more.
    [[ $given == -- ]] && option= && break
  done
  case $command in
${commands.map(caseOf).join("")}\
  *) return ;;
  esac
  if [[ $values == / || $values == . ]]; then
    _reel_places "$values"
  elif [[ -n $values ]]; then
    [[ $values == - ]] || _reel_offer "$values"
  elif [[ $current == -* && -n $option ]]; then
    _reel_offer "$options"
  else
    for ((index = 2; index < COMP_CWORD; index++)); do
      [[ " $words " == *" \${COMP_WORDS[index]} "* ]] && words=
    done
    [[ -n $words ]] && _reel_offer "$words"
    [[ -n $places ]] && _reel_places "$places"
  fi
}

# The words of a list that begin like the current one.
_reel_offer() {
  local word
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(compgen -W "$1" -- "$current")
}

# Files (.) or directories (/) that begin like the current word.
_reel_places() {
  local place kind=-f
  [[ $1 == / ]] && kind=-d
  compopt -o filenames 2> /dev/null
  while IFS= read -r place; do
    COMPREPLY+=("$place")
  done < <(compgen "$kind" -- "$current")
}

complete -F _reel reel
`

const caseOf = ({ names, options, operandWords, operands }: CompletedCommand): string => {
  const spellings = options.flatMap(({ long, short }) => (short === undefined ? [long] : [long, short]))
  const words = operandWords.length === 0 ? "" : `    words='${operandWords.join(" ")}'\n`
  const places = operands === undefined || operands.tag === "other" ? "" : `    places=${mark(operands)}\n`
  return `\
  ${names.join(" | ")})
    options='${spellings.join(" ")}'
${words}${places}${valuesOf(options)}\
    ;;
`
}

/** A case with one branch for all options that have the same values. */
const valuesOf = (options: ReadonlyArray<CompletedOption>): string => {
  const spellings = new Map<string, string[]>()
  for (const { long, short, value } of options) {
    if (value === undefined) continue
    const values = mark(value)
    const known = spellings.get(values) ?? []
    spellings.set(values, known)
    known.push(...(short === undefined ? [long] : [long, short]))
  }
  if (spellings.size === 0) return ""
  const branches = [...spellings].map(([values, names]) => `    ${names.join(" | ")}) values='${values}' ;;\n`)
  return `    case $option in\n${branches.join("")}    esac\n`
}
