/** Many objects in the order of names, in pages: the first ones are found without sorting all. */

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { expect, test } from "vitest"
import { ArchiveWriter } from "../../../../src/archive/archive-writer.ts"
import { QueriedRecording } from "../../../../src/archive/queries/queried-recording.ts"
import type { StateQuestion } from "../../../../src/archive/queries/state-at.ts"
import { temporaryDirectory } from "../../../harness/temporary-directory.ts"
import { encodeFrame, nameOf, type SampleEvent, START } from "../../sample-frames.ts"
import { stateAt } from "../whole-answers.ts"

const gvk = "v1.Pod"
/** More than are kept before the first ones are sorted out. */
const objects = 5000
const perFrame = 250

/** Object n is changed twice and every seventh is deleted. */
const recorded = (): { readonly directory: string; readonly inOrder: ReadonlyArray<string> } => {
  const directory = temporaryDirectory()
  const writer = ArchiveWriter.open(directory)
  let [frame, time] = [0, START]
  const append = (numbers: ReadonlyArray<number>, action: SampleEvent["action"], isNew: boolean): void => {
    for (let first = 0; first < numbers.length; first += perFrame) {
      const part = numbers.slice(first, first + perFrame)
      const events = part.map((number) => ({ action, number, time: ++time, version: time, object: "{}" }))
      const frameOf = { gvk, newObjects: isNew ? part : [], events, completeThrough: String(time) }
      writer.append("watcher/sample", 1, ++frame, encodeFrame(frameOf))
      writer.commit()
    }
  }
  const all = Array.from({ length: objects }, (_, index) => index + 1)
  append(all, "applied", true)
  append(all.toReversed(), "applied", false)
  append(
    all.filter((number) => number % 7 === 0),
    "deleted",
    false,
  )
  writer.close()
  const alive = all.filter((number) => number % 7 > 0).map((number) => nameOf(gvk, number))
  return { directory, inOrder: alive.map(({ namespace, name }) => `${namespace}/${name}`).sort() }
}

const read = (recording: QueriedRecording, question: Partial<StateQuestion>) => {
  const items = stateAt(recording, { gvk, time: START + 1_000_000, ...question })
  const places: string[] = []
  for (;;) {
    const next = items.next()
    if (next.done === true) return { places, continue: next.value.continue }
    places.push(`${next.value.namespace}/${next.value.name}`)
  }
}

test("come in the order of their keys, in pages of any size and all at once", () => {
  const { directory, inOrder } = recorded()
  const recording = QueriedRecording.open(directory)
  try {
    expect(read(recording, {}).places).toEqual(inOrder)
    for (const limit of [1, 100, 1700]) {
      const places: string[] = []
      let page: string | undefined
      do {
        const next = read(recording, { limit, continue: page })
        places.push(...next.places)
        page = next.continue
      } while (page !== undefined && places.length < 3 * limit)
      expect(places).toEqual(inOrder.slice(0, 3 * limit))
    }
  } finally {
    recording.close()
  }
})

test("are refused if a name among them is damaged, and not if it belongs to an object that is gone", () => {
  const { directory } = recorded()
  const damage = (number: number): void => {
    const database = new DatabaseSync(join(directory, "recording.db"))
    database.function("row_checksum", { deterministic: true, varargs: true }, () => 1)
    database.exec(`UPDATE object SET name = 'a' WHERE number = ${number}`)
    database.close()
  }
  const firstPage = (): number => {
    const recording = QueriedRecording.open(directory)
    try {
      return read(recording, { limit: 10 }).places.length
    } finally {
      recording.close()
    }
  }
  damage(7)
  expect(firstPage()).toBe(10)
  damage(4000)
  expect(firstPage).toThrow("object 4000 of kind 1 has a damaged row")
})
