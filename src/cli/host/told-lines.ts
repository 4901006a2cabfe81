/** What a host tells on standard error: safe for terminals, and readable although an error may have a stack. */
import { visible } from "../../text/index.ts"

/** The text after `prefix`. Its further lines are indented, so that what a module throws cannot pass for a line of the host. */
export const toldLines = (prefix: string, text: string): string =>
  text
    .split("\n")
    .map((line, index) => `${index === 0 ? prefix : "  "}${visible(line)}\n`)
    .join("")
