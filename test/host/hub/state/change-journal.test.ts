import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ChangeJournal } from "../../../../src/host/hub/state/change-journal.ts"
import { ObjectState } from "../../../../src/host/hub/state/object-state.ts"
import { StateChange } from "../../../../src/host/hub/state/state-change.ts"

const change = (version: number | string, length = 100): StateChange =>
  new StateChange(undefined, new ObjectState({ uid: "u", namespace: "n", name: "a" }, version, Buffer.alloc(length)))

const versions = (changes: ReadonlyArray<StateChange> | undefined) => changes?.map(({ object }) => object.version)

describe("A journal of changes", () => {
  test("knows nothing before it is told where it begins", () => {
    const journal = new ChangeJournal(10_000)
    expect(journal.since(5)).toBeUndefined()
    journal.reset(5)
    expect([journal.since(4), journal.since(5), journal.since(6)]).toEqual([undefined, [], []])
  })

  test("returns the changes of a list to whoever does not have all of them", () => {
    const journal = new ChangeJournal(10_000)
    journal.reset(5)
    for (const version of [6, 7, 9]) journal.add(change(version), 10)
    journal.add(change(11), 11)
    expect(versions(journal.since(7))).toEqual([6, 7, 9, 11])
    expect(versions(journal.since(10))).toEqual([11])
  })

  test("finds versions that are not integers, and no others", () => {
    const journal = new ChangeJournal(700)
    journal.reset("start")
    for (const version of ["x", "b", "k"]) journal.add(change(version), version)
    // Two changes fit.
    expect(["start", "x", "b", "k", "z"].map((version) => versions(journal.since(version)))).toEqual([
      undefined,
      ["b", "k"],
      ["k"],
      [],
      undefined,
    ])
  })

  test("has all changes after a version or says that it has not, within its bytes", () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 2000 }), { maxLength: 200 })
    fc.assert(
      fc.property(lengths, fc.integer({ min: 0, max: 20_000 }), (given, maximumBytes) => {
        const journal = new ChangeJournal(maximumBytes)
        journal.reset(0)
        for (const [index, length] of given.entries()) journal.add(change(index + 1, length), index + 1)
        expect(journal.bytes).toBeLessThanOrEqual(maximumBytes)
        const oldest = given.length - journal.size
        for (let version = 0; version <= given.length; version++) {
          const rest = given.slice(version).map((_, index) => version + index + 1)
          expect(versions(journal.since(version))).toEqual(version < oldest ? undefined : rest)
        }
      }),
      { numRuns: 50 },
    )
  })
})
