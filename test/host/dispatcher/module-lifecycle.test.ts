/** When modules are started again, and where. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { type LifecycleInput, ModuleLifecycle } from "../../../src/host/dispatcher/module-lifecycle.ts"

const lifecycle = (clock = { ms: 0 }): ModuleLifecycle => {
  let incarnation = 0
  return new ModuleLifecycle(
    () => clock.ms,
    () => 0,
    () => ++incarnation,
  )
}

test("a module that traps is started again after a back-off that doubles, and is forgiven after ten quiet minutes", () => {
  const clock = { ms: 0 }
  const life = lifecycle(clock)
  expect(life.step({ type: "start" })).toEqual([{ type: "place", incarnation: 1 }])
  const trap = { type: "ended", reason: "unreachable" } as const
  expect(life.step(trap)).toEqual([
    { type: "release", incarnation: 1 },
    { type: "retry-after", delayMs: 1000 },
  ])
  expect(life.step({ type: "retry" })).toEqual([{ type: "place", incarnation: 2 }])
  expect(life.step(trap)).toContainEqual({ type: "retry-after", delayMs: 2000 })
  life.step({ type: "retry" })
  clock.ms += 600_001
  expect(life.step(trap)).toContainEqual({ type: "retry-after", delayMs: 1000 })
  expect(life).toMatchObject({ phase: "waiting", restarts: 2, reason: "unreachable" })
})

test("one in which its worker ended is alone from then on", () => {
  const life = lifecycle()
  life.step({ type: "start" })
  expect(life.isAlone).toBe(false)
  expect(life.step({ type: "worker-lost", reason: "it did not return within 500 ms" })).toEqual([
    { type: "release", incarnation: 1 },
    { type: "retry-after", delayMs: 1000 },
  ])
  expect(life.reason).toBe("it did not return within 500 ms")
  expect(life.step({ type: "retry" })).toEqual([{ type: "place", incarnation: 2 }])
  life.step({ type: "ended", reason: "unreachable" })
  expect(life.step({ type: "retry" })).toEqual([{ type: "place", incarnation: 3 }])
  expect(life.isAlone).toBe(true)
})

test("one whose worker ended for another's fault starts again at once, without a back-off for its next own end", () => {
  const life = lifecycle()
  life.step({ type: "start" })
  expect(life.step({ type: "worker-gone" })).toEqual([
    { type: "release", incarnation: 1 },
    { type: "place", incarnation: 2 },
  ])
  expect(life.step({ type: "ended", reason: "unreachable" })).toContainEqual({ type: "retry-after", delayMs: 1000 })
})

test("whatever happens, an instance is placed only when none is, each has its own number, and a removed module stays removed", () => {
  const input = fc.constantFrom<LifecycleInput>(
    { type: "start" },
    { type: "ended", reason: "trap" },
    { type: "worker-lost", reason: "loop" },
    { type: "worker-gone" },
    { type: "retry" },
    { type: "remove" },
  )
  fc.assert(
    fc.property(fc.array(input), (inputs) => {
      const life = lifecycle()
      let placed: number | undefined
      let last = 0
      let isRemoved = false
      for (const each of inputs) {
        const commands = life.step(each)
        if (isRemoved) expect(commands).toEqual([])
        isRemoved ||= each.type === "remove"
        for (const command of commands) {
          if (command.type === "place") {
            expect(placed).toBeUndefined()
            expect(command.incarnation).toBeGreaterThan(last)
            placed = last = command.incarnation
          } else if (command.type === "release") {
            expect(command.incarnation).toBe(placed)
            placed = undefined
          }
        }
        expect(life.phase === "running").toBe(placed !== undefined)
      }
    }),
  )
})
