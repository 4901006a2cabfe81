/** On which worker a module starts, and when one moves: for any loads. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  defaultMovePolicy,
  type ModuleLoad,
  MovePlanner,
  type PlannedMove,
  placeFor,
} from "../../../../src/host/dispatcher/placing/placement.ts"

const load = (module: string, worker: string, share: number, isMovable = true): ModuleLoad => ({
  module,
  worker,
  share,
  isMovable,
})
const { lastingMs, restMs, moduleRestMs, leastGain, busyAbove, idleBelow } = defaultMovePolicy

describe("A module that starts", () => {
  test("gets the worker that is least busy, however many idle modules that has", () => {
    const loads = [load("a", "one", 0.6), load("b", "two", 0), load("c", "two", 0), load("d", "two", 0)]
    expect(placeFor(["one", "two"], loads)).toBe("two")
  })

  test("is spread among idle workers, the first one first", () => {
    const loads: ModuleLoad[] = []
    for (const module of ["a", "b", "c", "d"]) loads.push(load(module, placeFor(["one", "two"], loads), 0))
    expect(loads.map(({ worker }) => worker)).toEqual(["one", "two", "one", "two"])
  })
})

/** Looks once a second; returns the moves with their times. */
const watch = (planner: MovePlanner, fromS: number, toS: number, loads: () => ReadonlyArray<ModuleLoad>) => {
  const moves: Array<PlannedMove & { readonly atMs: number }> = []
  for (let second = fromS; second <= toS; second++) {
    const move = planner.observe(second * 1000, ["one", "two"], loads())
    if (move !== undefined) moves.push({ ...move, atMs: second * 1000 })
  }
  return moves
}

describe("A module moves", () => {
  const unequal = [load("a", "one", 0.5), load("b", "one", 0.4), load("c", "two", 0.1)]

  test("once its worker has been busy and another idle for five seconds", () => {
    expect(watch(new MovePlanner(), 0, 8, () => unequal)).toEqual([
      { module: "b", from: "one", to: "two", atMs: lastingMs },
    ])
  })

  test("not for a burst, which is over before", () => {
    const planner = new MovePlanner()
    expect(watch(planner, 0, 4, () => unequal)).toEqual([])
    expect(watch(planner, 5, 5, () => [])).toEqual([])
    expect(watch(planner, 6, 10, () => unequal)).toEqual([])
  })

  test("not if it fills its worker alone, and not if it cannot be moved", () => {
    expect(watch(new MovePlanner(), 0, 100, () => [load("a", "one", 1), load("c", "two", 0)])).toEqual([])
    const held = unequal.map((each) => ({ ...each, isMovable: false }))
    expect(watch(new MovePlanner(), 0, 100, () => held)).toEqual([])
  })

  test("at most once in a minute, although it was not moved in fact, and others not within ten seconds", () => {
    const moves = watch(new MovePlanner(), 0, 130, () => unequal)
    expect(moves.map(({ module, atMs }) => [module, atMs])).toEqual([
      ["b", lastingMs],
      ["a", lastingMs + restMs],
      ["b", lastingMs + moduleRestMs],
      ["a", lastingMs + restMs + moduleRestMs],
      ["b", lastingMs + 2 * moduleRestMs],
    ])
  })
})

const workers = ["one", "two", "three"]
const anyLoads = fc
  .array(
    fc.record({
      worker: fc.constantFrom(...workers, "alone"),
      demand: fc.double({ min: 0, max: 3, noNaN: true }),
      isMovable: fc.boolean(),
    }),
    { maxLength: 12 },
  )
  .map((modules) => modules.map((module, index) => ({ ...module, name: `m${index}` })))

type Wanted = { readonly name: string; worker: string; demand: number; readonly isMovable: boolean }

/** What modules get that want so much: the modules of a full worker share it. */
const sharesOf = (modules: ReadonlyArray<Wanted>): ReadonlyArray<ModuleLoad> =>
  modules.map(({ name, worker, demand, isMovable }) => {
    const sum = modules.filter((other) => other.worker === worker).reduce((total, other) => total + other.demand, 0)
    return load(name, worker, demand / Math.max(1, sum), isMovable)
  })
const busyOf = (loads: ReadonlyArray<ModuleLoad>, worker: string): number =>
  loads.filter((each) => each.worker === worker).reduce((sum, { share }) => sum + share, 0)

test("Whatever constant loads modules have, moves come to an end, and each makes the busier of two workers less busy", () => {
  fc.assert(
    fc.property(anyLoads, (modules) => {
      const planner = new MovePlanner()
      let lastMove = 0
      for (let second = 0; second < 2000; second++) {
        const loads = sharesOf(modules)
        const move = planner.observe(second * 1000, workers, loads)
        if (move === undefined) continue
        lastMove = second
        const module = modules.find(({ name }) => name === move.module) as Wanted
        const { share } = loads.find((each) => each.module === move.module) as ModuleLoad
        const [busy, idle] = [busyOf(loads, move.from), busyOf(loads, move.to)]
        expect(module).toMatchObject({ isMovable: true, worker: move.from })
        expect(workers).toContain(move.to)
        expect(busy).toBeGreaterThan(busyAbove)
        expect(idle).toBeLessThan(idleBelow)
        expect(busy - Math.max(busy - share, idle + share)).toBeGreaterThanOrEqual(leastGain - 1e-9)
        module.worker = move.to
      }
      expect(lastMove).toBeLessThan(1000)
    }),
  )
})

test("However loads change, two moves are ten seconds apart, and two of one module a minute", () => {
  fc.assert(
    fc.property(fc.array(anyLoads, { minLength: 1, maxLength: 40 }), (changes) => {
      const planner = new MovePlanner()
      const movedAt = new Map<string, number>()
      let lastMs = Number.NEGATIVE_INFINITY
      for (let second = 0; second < 400; second++) {
        const modules = changes[Math.floor(second / 10) % changes.length] ?? []
        const move = planner.observe(second * 1000, workers, sharesOf(modules))
        if (move === undefined) continue
        expect(second * 1000 - lastMs).toBeGreaterThanOrEqual(restMs)
        const before = movedAt.get(move.module) ?? Number.NEGATIVE_INFINITY
        expect(second * 1000 - before).toBeGreaterThanOrEqual(moduleRestMs)
        lastMs = second * 1000
        movedAt.set(move.module, lastMs)
      }
    }),
  )
})
