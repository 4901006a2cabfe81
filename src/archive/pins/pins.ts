/** The pins of a recording, as its writer makes, changes and removes them. */
import type { TrustedDatabase } from "../tables/trusted-database.ts"
import type { Pin, PinRequest } from "./pin.ts"
import { PinRows, pinsIn } from "./pin-rows.ts"

/** What pins use of the writer of a recording. */
interface PinParts {
  readonly directory: string
  readonly database: TrustedDatabase
  /** µs since the Unix epoch. */
  readonly now: () => number
}

/** Belongs to the writer of a recording. Each change is durable as a commit is. */
export class Pins {
  readonly #parts: PinParts
  readonly #rows: PinRows

  constructor(parts: PinParts) {
    this.#parts = parts
    this.#rows = new PinRows(parts.database.shared)
  }

  /** The earliest window first. @throws ArchiveError */
  all(): ReadonlyArray<Pin> {
    return this.#write(() => pinsIn(this.#parts.database.shared, this.#parts.now()))
  }

  /** Makes a pin, or extends the one with the same key. @throws PinRefused, ArchiveError */
  add(request: PinRequest): Pin {
    return this.#write(() => this.#rows.add(request, this.#parts.now()))
  }

  /** Whether there was one. @throws ArchiveError */
  remove(id: string): boolean {
    return this.#write(() => this.#rows.remove(id))
  }

  /** Whether there is one. `atMicros`: when its window was exported. @throws ArchiveError */
  noteExported(id: string, atMicros: number): boolean {
    return this.#write(() => this.#rows.noteExported(id, atMicros))
  }

  #write<Answer>(write: () => Answer): Answer {
    let answer: { readonly value: Answer } | undefined
    this.#parts.database.transaction("pin", () => {
      answer = { value: write() }
    })
    if (answer === undefined) throw new Error("a transaction that did not run")
    return answer.value
  }
}
