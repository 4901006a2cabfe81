/** What the history of one kind keeps and drops. */

import fc from "fast-check"
import { expect, test } from "vitest"
import { type Change, type ChangeRecord, type ChangeType, compact, makeChange } from "../../../src/apiserver/index.ts"
import { History } from "../../../src/sandbox/store/collection.ts"

const changeOf = (type: ChangeType, revision: number, bytes: number): Change => {
  const object = JSON.stringify({ text: "x".repeat(bytes) })
  const identity = { uid: "u", namespace: "", name: "a", labels: undefined }
  return makeChange({ ...identity, type, revision: BigInt(revision) }, object, compact)
}

/** Changes of one object, each with that many bytes in addition to its frame. */
const changesOf = (sizes: ReadonlyArray<number>): ReadonlyArray<ChangeRecord> => {
  const states = sizes.map((bytes, index) => changeOf(index === 0 ? "ADDED" : "MODIFIED", index + 1, bytes))
  return states.map((change, index) => ({ change, previous: states[index - 1] }))
}

test("drops the oldest changes when outdated states exceed its limit of bytes", () => {
  const records = changesOf([1000, 1000, 1000, 1000])
  const history = new History(100, 0n, 2500)
  for (const record of records) history.append(record)
  expect(history.after(history.floor)).toEqual(records.slice(2))
  expect(history.floor).toBe(2n)
})

test("does not count states that are still the newest of their objects", () => {
  const history = new History(100, 0n, 10)
  for (let revision = 1; revision <= 5; revision++) {
    history.append({ change: changeOf("ADDED", revision, 1000), previous: undefined })
  }
  expect(history.size).toBe(5)
  expect(history.floor).toBe(0n)
})

test("counts the last state of a deleted object", () => {
  const history = new History(100, 0n, 10)
  history.append({ change: changeOf("DELETED", 1, 1000), previous: undefined })
  expect(history.size).toBe(0)
  expect(history.floor).toBe(1n)
})

test("keeps the newest changes that fit, whatever their sizes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(500), { maxLength: 50 }),
      fc.nat(3000),
      fc.integer({ min: 1, max: 60 }),
      (sizes, bytes, limit) => {
        const records = changesOf(sizes)
        const history = new History(limit, 0n, bytes)
        for (const record of records) history.append(record)
        let left = bytes
        let fitting = 0
        for (const { previous } of records.toReversed()) {
          left -= previous?.line.length ?? 0
          if (left < 0 || fitting === limit) break
          fitting++
        }
        expect(history.after(history.floor)).toEqual(records.slice(records.length - fitting))
      },
    ),
  )
})
