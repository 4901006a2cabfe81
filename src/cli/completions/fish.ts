/** The script for fish. fish reads it when `reel` is completed for the first time, if it lies in one of its folders `completions`. */
import type { CompletedCommand, CompletedOption, Words } from "./completed-command.ts"

/** The script. */
export const fishScript = (commands: ReadonlyArray<CompletedCommand>): string => `\
# Completions of reel for fish, made by "reel completions fish".

# Whether the command is one of these; without arguments: whether there is none yet.
function __reel_runs
    set -l words (commandline -opc)
    if test (count $argv) -eq 0
        test (count $words) -eq 1
    else
        test (count $words) -gt 1; and contains -- $words[2] $argv
    end
end

# Whether none of these words was given to the command yet.
function __reel_lacks
    set -l words (commandline -opc)
    set -e words[1..2]
    for word in $words
        contains -- $word $argv; and return 1
    end
    return 0
end

complete -c reel -f
complete -c reel -n __reel_runs -s h -l help -d 'show all commands'
complete -c reel -n __reel_runs -l version -d 'show the version'
${commands.map(linesOf).join("")}`

const linesOf = (command: CompletedCommand): string => {
  const { names, summary, options, operandWords, operands } = command
  const when = `__reel_runs ${names.join(" ")}`
  const lines = [
    ...names.map((name) => `-n __reel_runs -a ${name} -d ${quotedWord(summary)}`),
    ...options.map((option) => `-n ${quotedWord(when)} ${optionOf(option)}`),
    ...(operandWords.length === 0
      ? []
      : [
          `-n ${quotedWord(`${when}; and __reel_lacks ${operandWords.join(" ")}`)} -a ${quotedWord(operandWords.join(" "))}`,
        ]),
    ...(operands === undefined ? [] : placesOf(operands).map((places) => `-n ${quotedWord(when)} ${places}`)),
  ]
  return `\n${lines.map((line) => `complete -c reel ${line}\n`).join("")}`
}

const placesOf = ({ tag }: Words): ReadonlyArray<string> => {
  if (tag === "files") return ["-F"]
  return tag === "directories" ? [`-a '(__fish_complete_directories)'`] : []
}

const optionOf = ({ long, short, help, value }: CompletedOption): string => {
  const names = `${short === undefined ? "" : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
  return `${names}${value === undefined ? "" : ` ${valueFlags(value)}`} -d ${quotedWord(help)}`
}

/** `-r`: a value is required; `-F`: files, which are not completed otherwise; `-x`: a value that is no file. */
const valueFlags = (words: Words): string => {
  switch (words.tag) {
    case "files":
      return "-r -F"
    case "directories":
      return "-x -a '(__fish_complete_directories)'"
    case "other":
      return "-x"
    case "words":
      return `-x -a ${quotedWord(words.words.join(" "))}`
  }
}

const quotedWord = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`
