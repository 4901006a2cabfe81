/** What the hooks of several simulations write, line by line, so that lines of two are not mixed. */
import { StringDecoder } from "node:string_decoder"

/** Characters of a line that is printed before its end has come. */
const longestLine = 16_384

export class OutputLines {
  readonly #print: (source: string, line: string) => void
  readonly #open = new Map<string, { readonly decoder: StringDecoder; text: string }>()

  constructor(print: (source: string, line: string) => void) {
    this.#print = print
  }

  add(source: string, chunk: Buffer): void {
    const open = this.#open.get(source) ?? { decoder: new StringDecoder("utf8"), text: "" }
    this.#open.set(source, open)
    const [last = "", ...whole] = (open.text + open.decoder.write(chunk)).split("\n").reverse()
    for (const line of whole.reverse()) this.#print(source, line)
    open.text = last
    if (last.length > longestLine) this.#endLine(source)
  }

  /** Prints what has no end yet. */
  end(): void {
    for (const source of [...this.#open.keys()]) this.#endLine(source)
  }

  #endLine(source: string): void {
    const open = this.#open.get(source)
    this.#open.delete(source)
    if (open !== undefined && open.text !== "") this.#print(source, open.text)
  }
}
