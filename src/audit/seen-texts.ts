/** What is noticed while logs are read: how many texts, from when to when, and what is no audit entry. */
import { type ImportSummary, NoAuditLog, type UnknownText } from "./import-order.ts"
import type { LogListener } from "./reading/log-file.ts"

/** Examples of what is no audit entry. */
const mostExamples = 5

/** Takes reports; reads nothing itself. */
export class SeenTexts implements LogListener {
  texts = 0
  /** µs of the first and the last entry. */
  from = Number.POSITIVE_INFINITY
  to = Number.NEGATIVE_INFINITY
  readonly read: (bytes: number) => void
  readonly #examples: UnknownText[] = []
  #unknown = 0

  constructor(read: (bytes: number) => void) {
    this.read = read
  }

  get unknown(): ImportSummary["unknown"] {
    return { count: this.#unknown, first: this.#examples }
  }

  text(): void {
    this.texts++
  }

  unknownText(place: UnknownText): void {
    if (this.#examples.length < mostExamples) this.#examples.push(place)
    this.#unknown++
  }

  time(micros: number): void {
    this.from = Math.min(this.from, micros)
    this.to = Math.max(this.to, micros)
  }

  /** The error for logs without any write. */
  nothing(): NoAuditLog {
    const [first] = this.#examples
    const example = first === undefined ? "" : `${first.log}:${first.line}: ${first.found}`
    return new NoAuditLog({ texts: this.texts, unknown: this.#unknown, example })
  }
}
