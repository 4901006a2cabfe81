/** A program with its text, from a file, from standard input or from the command line. */
import { messageOf } from "../../message-of.ts"
import { visible } from "../../text/index.ts"
import { InputUnreadable, type TraceInput } from "../../trace/index.ts"
import { longestProgram, type Program, ProgramError, parseProgram } from "../../trace/transform/index.ts"

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
    source = "text" in place ? place.text : await textOf(await openInput(place.file))
  } catch (cause) {
    return visible(cause instanceof InputUnreadable ? cause.message : `cannot read ${name}: ${messageOf(cause)}`)
  }
  try {
    return { text: source, program: parseProgram(source) }
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error
    return `${visible(name)}: ${error.message}`
  }
}

/** A character has at most three bytes for each UTF-16 code unit. What is longer is no program, and may be a trace, or have no end. */
const mostBytes = 3 * longestProgram

const textOf = async ({ bytes }: TraceInput): Promise<string> => {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of bytes) {
    pieces.push(piece)
    length += piece.length
    if (length > mostBytes) break
  }
  return Buffer.concat(pieces).toString("utf8")
}
