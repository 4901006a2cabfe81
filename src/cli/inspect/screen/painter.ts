/**
 * Writes screens to a terminal: its alternate screen, without cursor and without wrapping lines, and only those lines that differ from what is there.
 *
 * After {@link Painter.leave} the terminal shows what it showed before, whether the command ended, failed or is suspended.
 */
import type { Output } from "../../terminal/terminal.ts"
import { paintedLine, type StyledLine } from "./styled-line.ts"

const enterScreen = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J"
const leaveScreen = "\u001b[?7h\u001b[?25h\u001b[?1049l"

export class Painter {
  readonly #stream: Pick<Output, "write">
  readonly #isColoured: boolean
  #shown: ReadonlyArray<string> = []
  #isEntered = false

  constructor(stream: Pick<Output, "write">, isColoured: boolean) {
    this.#stream = stream
    this.#isColoured = isColoured
  }

  /** Shows these lines, from the first row of the screen on. `isWhole`: also those that were there, because the terminal has another size. */
  paint(lines: ReadonlyArray<StyledLine>, isWhole = false): void {
    const painted = lines.map((line) => paintedLine(line, this.#isColoured))
    let output = ""
    if (!this.#isEntered) output += enterScreen
    else if (isWhole) output += "\u001b[2J"
    const known = this.#isEntered && !isWhole ? this.#shown : []
    for (const [row, line] of painted.entries())
      if (line !== known[row]) output += `\u001b[${row + 1};1H\u001b[2K${line}`
    this.#isEntered = true
    this.#shown = painted
    if (output !== "") this.#stream.write(output)
  }

  /** May be called again. */
  leave(): void {
    if (!this.#isEntered) return
    this.#isEntered = false
    this.#stream.write(leaveScreen)
  }
}
