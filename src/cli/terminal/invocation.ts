/**
 * The names by which the program is called: `reel`, `kubectl reel` if kubectl has found it as a plugin (`kubectl-reel`), and
 * `kubectl_complete-reel`, by which kubectl asks a plugin for completions. What tells users to type a command names it as they call it: with
 * kubectl's plugin manager there is no `reel`.
 */
import { basename } from "node:path"

/** How texts name the program. */
export type Program = "reel" | "kubectl reel"

/** What a process of the program is. */
interface Invocation {
  readonly program: Program
  /** Whether it is to print completions for kubectl, instead of running a command. */
  readonly isCompleting: boolean
}

/** What a process is by the path of its script, a link to it or not. */
export const invocationOf = (script: string | undefined): Invocation => {
  const name = basename(script ?? "").replace(/\.js$/, "")
  // The link has the name that kubectl looks for. Where there are no links, as on Windows, it is that of the file.
  const isCompleting = /^kubectl[_-]complete-reel$/.test(name)
  return { program: isCompleting || name === "kubectl-reel" ? "kubectl reel" : "reel", isCompleting }
}

/** What this process is. Its own name is known before anything else, so it is a constant. */
export const invocation: Invocation = invocationOf(process.argv[1])

/** The text with each `reel COMMAND` in it as the user types it. Names of files, packages and images that contain the word stay. */
export const asTyped = (text: string, program: Program = invocation.program): string =>
  program === "reel" ? text : text.replace(/(?<![\w/.@:-]|kubectl )reel(?= [A-Za-z-]|:|$)/g, program)
