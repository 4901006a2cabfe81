/**
 * Completions of `kubectl reel`. kubectl asks a plugin's `kubectl_complete-reel` with the words after `reel`, the last of which is the one to
 * complete, and expects a candidate on each line, a tab before its meaning, and on the last line a colon and a number: Cobra's directive, which
 * says what the shell is to do besides. kubectl filters nothing, so this does. Only the command in question is loaded.
 */
import { type CommandEntry, commandNamed } from "../command-line/command.ts"
import { type CompletedCommand, completedCommand, type Words } from "./completed-command.ts"

/** Directives of Cobra, version 1. Without `noFiles` the shell completes files if there is no candidate. */
const noFiles = 4
const files = 0
const directoriesOnly = 16

interface Answer {
  readonly candidates: ReadonlyArray<readonly [word: string, meaning: string]>
  readonly directive: number
}

/** The text to print. */
export const completionsForKubectl = async (
  commands: ReadonlyArray<CommandEntry>,
  words: ReadonlyArray<string>,
): Promise<string> => {
  const current = words.at(-1) ?? ""
  const { candidates, directive } = await answer(commands, words.slice(0, -1), current)
  const lines = candidates.map(([word, meaning]) => (meaning === "" ? word : `${word}\t${meaning}`))
  return `${[...lines, `:${directive}`].join("\n")}\n`
}

const answer = async (
  commands: ReadonlyArray<CommandEntry>,
  given: ReadonlyArray<string>,
  current: string,
): Promise<Answer> => {
  const [name, ...others] = given
  if (name === undefined)
    return offered(
      commands.flatMap(({ name, aliases = [], summary }) =>
        [name, ...aliases].map((each) => [each, summary.replace(/\.$/, "")] as const),
      ),
      current,
    )
  const entry = commandNamed(commands, name)
  if (entry === undefined) return offered([], current)
  return ofCommand(await completedCommand(entry), others, current)
}

const ofCommand = (command: CompletedCommand, given: ReadonlyArray<string>, current: string): Answer => {
  const isEnded = given.includes("--")
  const valueOfOption = (spelling: string): Words | undefined =>
    isEnded ? undefined : command.options.find(({ long, short }) => spelling === long || spelling === short)?.value
  const [, attached, typed = ""] = /^(--[a-z-]+)=(.*)$/s.exec(current) ?? []
  if (attached !== undefined && !isEnded) {
    const value = valueOfOption(attached)
    return value === undefined ? offered([], typed) : ofWords(value, typed)
  }
  const value = valueOfOption(given.at(-1) ?? "")
  if (value !== undefined) return ofWords(value, current)
  if (current.startsWith("-") && !isEnded) {
    const spellings = command.options.flatMap(({ long, short, help }) =>
      (short === undefined ? [long] : [long, short]).map((spelling) => [spelling, help] as const),
    )
    return offered(spellings, current)
  }
  const isGiven = given.some((word) => command.operandWords.includes(word))
  const candidates = isGiven ? [] : ofWords({ tag: "words", words: command.operandWords }, current).candidates
  return {
    candidates,
    directive: command.operands === undefined ? noFiles : ofWords(command.operands, current).directive,
  }
}

const offered = (all: Answer["candidates"], typed: string): Answer => ({
  candidates: all.filter(([word]) => word.startsWith(typed)),
  directive: noFiles,
})

const ofWords = (words: Words, typed: string): Answer => {
  switch (words.tag) {
    case "files":
      return { candidates: [], directive: files }
    case "directories":
      return { candidates: [], directive: directoriesOnly }
    case "other":
      return { candidates: [], directive: noFiles }
    case "words":
      return offered(
        words.words.map((word) => [word, ""]),
        typed,
      )
  }
}
