/** The script for zsh: works as a file `_reel` in a directory of `fpath`, and if it is sourced after `compinit`. */
import type { CompletedCommand, CompletedOption, Words } from "./completed-command.ts"

/** The script. */
export const zshScript = (commands: ReadonlyArray<CompletedCommand>): string => `\
#compdef reel
# Completions of reel for zsh, made by "reel completions zsh".

_reel() {
  local curcontext=$curcontext state line ret=1
  local -A opt_args
  local -a commands
  commands=(
${commands.flatMap(({ names, summary }) => names.map((name) => `    ${quotedWord(`${name}:${summary}`)}\n`)).join("")}\
  )
  _arguments -C \\
    '(-)'{-h,--help}'[show all commands]' \\
    '(-)--version[show the version]' \\
    '1: :->command' \\
    '*:: :->arguments' && ret=0
  case $state in
    command) _describe -t commands command commands && ret=0 ;;
    arguments)
      case $words[1] in
${commands.map(caseOf).join("")}\
      esac
      ;;
  esac
  return ret
}

# zsh runs the file as the function's body when it has found it in fpath, and as a script when it is sourced.
if [[ $funcstack[1] == _reel ]]; then
  _reel "$@"
else
  compdef _reel reel
fi
`

const caseOf = (command: CompletedCommand): string => {
  const specifications = [...command.options.flatMap(optionsOf), ...operandsOf(command)]
  return `        ${command.names.join(" | ")})
          _arguments -s -S : \\
            ${specifications.join(" \\\n            ")} && ret=0
          ;;
`
}

/** An option may be repeated, and then its last value counts or all do: none of that is worth hiding it once it was given. */
const optionsOf = ({ long, short, help, value }: CompletedOption): ReadonlyArray<string> => {
  const described = `[${escaped(help)}]${value === undefined ? "" : `:value:${actionOf(value)}`}`
  const sign = value === undefined ? "" : "="
  const names = [quotedWord(`*${long}${sign}${described}`)]
  if (short !== undefined) names.unshift(quotedWord(`*${short}${value === undefined ? "" : "+"}${described}`))
  return names
}

const operandsOf = ({ operandWords, operands }: CompletedCommand): ReadonlyArray<string> => {
  const words: Words | undefined = operandWords.length === 0 ? undefined : { tag: "words", words: operandWords }
  if (words === undefined) return operands === undefined ? [] : [quotedWord(`*:argument:${actionOf(operands)}`)]
  const others =
    operands === undefined || operands.tag === "other" ? [] : [quotedWord(`*:argument:${actionOf(operands)}`)]
  return [quotedWord(`1:argument:${actionOf(words)}`), ...others]
}

const actionOf = (words: Words): string => {
  switch (words.tag) {
    case "files":
      return "_files"
    case "directories":
      return "_files -/"
    case "other":
      return "()"
    case "words":
      return `(${words.words.join(" ")})`
  }
}

/** Colons and brackets have a meaning in a specification. */
const escaped = (text: string): string => text.replace(/[\\[\]:]/g, "\\$&")

const quotedWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
