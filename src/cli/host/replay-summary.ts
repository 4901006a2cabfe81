/** What the controllers did in a rehearsal, counted, as a table for people. */

import type { Participant } from "../../rehearsal/cast/participant.ts"
import type { JournalStep, WriteEntry } from "../../rehearsal/journal/journal.ts"
import { instantOf } from "../../rehearsal/journal/journal.ts"

const pastTense: Readonly<Record<WriteEntry["verb"], string>> = {
  create: "created",
  update: "updated",
  patch: "patched",
  delete: "deleted",
}

export class ReplaySummary {
  #fed = 0
  #leftOut = 0
  readonly #failures = new Map<string, number>()
  /** By controller: accepted writes by kind and verb. */
  readonly #writes = new Map<string, Map<string, number>>()
  /** By controller and key: whether the last run failed. */
  readonly #last = new Map<string, boolean>()

  add({ cause, entries }: JournalStep): void {
    if (cause.type === "change") {
      if (cause.fedAs === "left-out") this.#leftOut++
      else this.#fed++
    }
    for (const entry of entries) {
      if (entry.type === "reconcile") {
        const isFailed = entry.outcome === "failed" || entry.outcome === "given-up"
        this.#last.set(`${entry.controller} ${entry.key}`, isFailed)
        if (isFailed) count(this.#failures, entry.controller)
      } else if (entry.type === "write") this.#addWrite(entry)
    }
  }

  /** Objects for which the last run failed: `simplepod shop/web`. */
  get failing(): ReadonlyArray<string> {
    return [...this.#last].filter(([, isFailed]) => isFailed).map(([name]) => name)
  }

  /** `start`, `end`: µs since the Unix epoch. */
  lines(facts: {
    readonly participants: ReadonlyArray<Participant>
    readonly gaps: number
    readonly start: number
    readonly end: number
  }): ReadonlyArray<string> {
    const { participants, gaps, start, end } = facts
    const rows = participants.map(({ name, wakeUps, failure }) => [
      name,
      String(wakeUps),
      String((this.#failures.get(name) ?? 0) + (failure === undefined ? 0 : 1)),
      [...(this.#writes.get(name) ?? [])].map(([what, times]) => `${what} ${times}`).join(", ") || "none",
    ])
    const titles = ["MODULE", "WAKE-UPS", "FAILURES", "WRITES"]
    const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
    const line = (cells: ReadonlyArray<string>): string =>
      cells.map((cell, column) => (column < 3 ? cell.padEnd(widths[column] ?? 0) : cell)).join("  ")
    const missing = gaps === 0 ? "" : `; ${gaps} gaps in the recording`
    return [
      `${instantOf(start)} to ${instantOf(end)}: ${this.#fed} changes fed, ${this.#leftOut} left out${missing}`,
      line(titles),
      ...rows.map(line),
      ...this.failing.map((name) => `the last run failed: ${name}`),
      ...participants.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name} has ended: ${failure}`])),
    ]
  }

  #addWrite({ controller, kind, subresource, verb, status }: WriteEntry): void {
    const what = subresource === "" ? kind : `${kind}/${subresource}`
    const writes = this.#writes.get(controller) ?? new Map<string, number>()
    this.#writes.set(controller, writes)
    count(writes, `${what} ${status < 400 ? pastTense[verb] : "refused"}`)
  }
}

const count = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1)
