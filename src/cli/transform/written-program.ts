/** A program with its text, from a file, from standard input or from the command line. */
import { readFile } from "node:fs/promises"
import { messageOf } from "../../message-of.ts"
import { quoted, visible } from "../../recorder/configuration/quoted.ts"
import type { TraceInput } from "../../trace/files/trace-input.ts"
import { ProgramError, parseProgram } from "../../trace/transform/language/parse-program.ts"
import type { Program } from "../../trace/transform/language/program.ts"

export interface WrittenProgram {
  readonly text: string
  readonly program: Program
}

/** Where a program is: a file, `-` for standard input, or its text. */
export type ProgramPlace = { readonly file: string } | { readonly text: string }

/** The program, or why there is none, in lines for people: its place, what is wrong, and the line with a caret. */
export const readProgram = async (
  place: ProgramPlace,
  openInput: (path: string) => Promise<TraceInput>,
): Promise<WrittenProgram | string> => {
  let source: string
  const name = "text" in place ? "--expression" : place.file === "-" ? "standard input" : place.file
  try {
    source =
      "text" in place
        ? place.text
        : place.file === "-"
          ? await textOf(await openInput("-"))
          : await readFile(place.file, "utf8")
  } catch (cause) {
    return `the program ${quoted(name)} cannot be read: ${messageOf(cause)}`
  }
  try {
    return { text: source, program: parseProgram(source) }
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    return `${visible(name)}: ${error.message}`
  }
}

const textOf = async ({ bytes }: TraceInput): Promise<string> => {
  const pieces: Uint8Array[] = []
  for await (const piece of bytes) pieces.push(piece)
  return Buffer.concat(pieces).toString("utf8")
}
