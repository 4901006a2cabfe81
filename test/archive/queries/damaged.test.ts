/** A damaged block: the answers that need it name it, everything else is answered as before. */
import { closeSync, openSync, readSync, writeSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { LiveChanges } from "../../../src/archive/queries/live-changes.ts"
import { QueriedRecording } from "../../../src/archive/queries/queried-recording.ts"
import { isComplete, type Shortcomings } from "../../../src/archive/queries/shortcomings.ts"
import { DATABASE_FILE } from "../../../src/archive/tables/reading-access.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { START } from "../sample-frames.ts"
import { recordHistory } from "./sample-history.ts"
import { changes, stateAt, stateDifferences } from "./whole-answers.ts"

const gvk = "v1.Pod"
const seconds = 30

/** One of five Pods changes each second. */
const recorded = () => {
  const directory = temporaryDirectory()
  const events = recordHistory(
    directory,
    Array.from({ length: seconds }, (_, index) => ({
      ...{ kind: 0, number: 1 + (index % 5), action: "applied" as const, delay: 1_000_000, app: "web" },
      ...{ replicas: index % 3, commits: true },
    })),
  )
  return { directory, events }
}

/** Changes a byte of a column of the block with an event, in the file. Returns the block's events. */
const damage = (directory: string, sequence: number, column: "toc" | "data") => {
  const path = join(directory, DATABASE_FILE)
  const database = new DatabaseSync(path, { readOnly: true })
  const row = database
    .prepare(`SELECT first_sequence, last_sequence, ${column} AS bytes FROM block WHERE last_sequence >= ? LIMIT 1`)
    .get(sequence)
  database.close()
  const bytes = Buffer.from(row?.bytes as Uint8Array)
  const file = openSync(path, "r+")
  const whole = Buffer.alloc(8 * 1024 * 1024)
  const content = whole.subarray(0, readSync(file, whole, 0, whole.length, 0))
  const at = content.indexOf(bytes.subarray(0, 24))
  expect(at).toBeGreaterThan(0)
  writeSync(file, Buffer.from([(content[at + 12] as number) ^ 0x40]), 0, 1, at + 12)
  closeSync(file)
  return { first: Number(row?.first_sequence), last: Number(row?.last_sequence) }
}

const answer = <Item>(items: Generator<Item, Shortcomings, void>, sequenceOf: (item: Item) => number) => {
  const found: number[] = []
  for (;;) {
    const next = items.next()
    if (next.done === true) return { found, end: next.value }
    found.push(sequenceOf(next.value))
  }
}

test("a state lacks the objects of the damaged block, and names it; a state that does not need the block is complete", () => {
  const { directory, events } = recorded()
  const block = damage(directory, seconds - 3, "data")
  const recording = QueriedRecording.open(directory)
  const last = events.slice(-5).map(({ sequence }) => sequence)
  const readable = last.filter((sequence) => sequence < block.first || sequence > block.last)
  expect(readable.length).toBeLessThan(5)
  const question = { gvk, time: START + seconds * 1_000_000, order: "change" } as const
  const { found, end } = answer(stateAt(recording, question), ({ sequence }) => sequence)
  expect(found).toEqual(readable.toReversed())
  expect(end.gaps).toMatchObject([{ gvk, reason: "damaged" }])
  expect(end.gaps[0]?.detail).toContain(`up to event ${block.last} is damaged`)
  const early = answer(stateAt(recording, { gvk, time: START + 6_000_000 }), ({ sequence }) => sequence)
  expect(early.found.length).toBe(5)
  expect(isComplete(early.end)).toBe(true)
  recording.close()
})

test("changes before and after the damaged block are there, and the block is a gap", () => {
  for (const column of ["data", "toc"] as const) {
    const { directory, events } = recorded()
    const block = damage(directory, 12, column)
    const recording = QueriedRecording.open(directory)
    const { found, end } = answer(changes(recording, { kinds: [gvk], from: 0 }), ({ event }) => event.sequence)
    const isRead = (sequence: number): boolean => sequence < block.first || sequence > block.last
    expect(found).toEqual(events.map(({ sequence }) => sequence).filter(isRead))
    expect(end.gaps).toMatchObject([{ gvk, reason: "damaged" }])
    recording.close()
  }
})

test("an object whose state at one of two moments is damaged does not pass for created or deleted", () => {
  const { directory } = recorded()
  damage(directory, 3, "data")
  const recording = QueriedRecording.open(directory)
  const times = { from: START + 5_000_000, to: START + seconds * 1_000_000 }
  const differences = stateDifferences(recording, { kinds: [gvk], ...times })
  const types: boolean[] = []
  for (let next = differences.next(); next.done !== true; next = differences.next())
    types.push(next.value.before !== undefined && next.value.after !== undefined)
  expect(types.length).toBeGreaterThan(0)
  expect(types.length).toBeLessThan(5)
  expect(types).not.toContain(false)
  recording.close()
})

test.each(["toc", "data"] as const)(
  "whoever follows is told of a damaged block (%s) where it is, wherever it breaks off, and of each event once",
  (column) => {
    const { directory, events } = recorded()
    const { first, last } = damage(directory, 15, column)
    const whole = events.filter(({ sequence }) => sequence < first || sequence > last).map(({ sequence }) => sequence)
    for (let cut = 1; cut <= whole.length + 1; cut++) {
      const items: Array<{ readonly sequence: number; readonly isGap: boolean }> = []
      let after = 0
      for (const most of [cut, Number.POSITIVE_INFINITY]) {
        const recording = QueriedRecording.open(directory)
        let taken = 0
        for (const item of new LiveChanges(recording, { after, withBefore: false }).toCut()) {
          if (item === undefined) continue
          const sequence = "event" in item ? item.event.sequence : item.sequence
          expect(sequence).toBeGreaterThanOrEqual(after)
          items.push({ sequence, isGap: !("event" in item) })
          after = sequence
          if (++taken >= most) break
        }
        recording.close()
      }
      expect(items.filter(({ isGap }) => !isGap).map(({ sequence }) => sequence)).toEqual(whole)
      // Before the first event that follows the damage.
      const gap = items.findIndex(({ isGap }) => isGap)
      const next = items.findIndex(({ isGap, sequence }) => !isGap && sequence > last)
      expect(gap).toBeGreaterThanOrEqual(0)
      expect(gap).toBeLessThan(next)
    }
  },
)
