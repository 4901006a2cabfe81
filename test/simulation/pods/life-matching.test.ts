import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { LifeMatching, type RecordedLife, RecordedLives } from "../../../src/simulation/pods/recorded-lives.ts"

import { rounds } from "../../harness/effort.ts"

const life = (runMs: number): RecordedLife => ({
  startMs: undefined,
  readyMs: undefined,
  runMs,
  exitCode: 0,
  restarts: 0,
})

/** Lives of one owner, by hash, in this order. */
const recorded = (owner: string, generations: Readonly<Record<string, ReadonlyArray<number>>>): RecordedLives => {
  const lives = new RecordedLives()
  let created = 0
  for (const [hash, runs] of Object.entries(generations))
    for (const run of runs) lives.add(owner, BigInt(hash.slice(1)), life(run), created++)
  return lives
}

describe("a pod of the replay", () => {
  test("leads the life of the same spec and number, and those are used again in turn", () => {
    const matching = new LifeMatching(recorded("web", { _1: [10], _2: [20, 21] }))
    const runs = [0, 1, 2, 3].map((number) => matching.life("web", 2n, number)?.runMs)
    expect(runs).toEqual([20, 21, 20, 21])
    expect(matching.life("web", 1n, 5)?.runMs).toBe(10)
    expect(matching.life("other", 1n, 0)).toBeUndefined()
  })

  test("with a spec that was not recorded stands for the next generation, and keeps standing for it (W-37)", () => {
    const matching = new LifeMatching(recorded("web", { _1: [10], _2: [20], _3: [30] }))
    const run = (hash: bigint) => matching.life("web", hash, 0)?.runMs
    expect([run(77n), run(88n), run(77n), run(99n), run(100n)]).toEqual([10, 20, 10, 30, 30])
    expect(run(2n)).toBe(20)
    const rolledOut = new LifeMatching(recorded("web", { _1: [10], _2: [20] }))
    expect([1n, 77n].map((hash) => rolledOut.life("web", hash, 0)?.runMs)).toEqual([10, 20])
  })

  test("is numbered by owner and spec, and a pod that is not stored takes no number (W-39)", () => {
    const matching = new LifeMatching(new RecordedLives())
    const numbers = [
      matching.number("a", 1n, false),
      matching.number("b", 1n, false),
      matching.number("a", 1n, true),
      matching.number("a", 1n, false),
      matching.number("a", 2n, false),
    ]
    expect(numbers).toEqual([0, 0, 1, 1, 0])
  })

  test("gets the same life in every run in which the pods are created in the same order", () => {
    const small = fc.nat(3)
    const generations = fc.dictionary(
      small.map((hash) => `_${hash}`),
      fc.array(small, { minLength: 1, maxLength: 3 }),
    )
    const created = fc.array(fc.tuple(fc.constantFrom("a", "b"), small), { maxLength: 30 })
    fc.assert(
      fc.property(generations, created, (lives, pods) => {
        const run = () => {
          const matching = new LifeMatching(recorded("a", lives))
          return pods.map(([owner, hash]) => {
            const number = matching.number(owner, BigInt(hash), false)
            return [number, matching.life(owner, BigInt(hash), number)]
          })
        }
        expect(run()).toEqual(run())
      }),
      { numRuns: rounds(200) },
    )
  })
})
