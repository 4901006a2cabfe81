/** The calls into one module: their order, what is dropped, and what its end means. */
import { describe, expect, test } from "vitest"
import { ModuleRunner } from "../../../../src/host/dispatcher/worker/module-runner.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"

/** A runner whose guest calls `script` with "start" and with each wake-up; it knows operations 0 to 2, until a watch ends. */
const stage = (script: (wakeUp: string) => void = () => undefined) => {
  const clock = new ManualClock()
  const woken: string[] = []
  const causes: unknown[] = []
  const marks: string[] = []
  const open = new Set([0n, 1n, 2n])
  const enter = (wakeUp: string): void => {
    woken.push(wakeUp)
    script(wakeUp)
  }
  const wake = (what: string, id: bigint, value: Uint8Array | undefined): boolean => {
    if (!open.has(id)) return false
    if (what === "future" || value === undefined) open.delete(id)
    enter(`${what} ${id} ${value === undefined ? "nothing" : Buffer.from(value).toString()}`)
    return true
  }
  const runner = new ModuleRunner({
    make: () => ({
      start: () => enter("start"),
      wakeFuture: (id, value) => wake("future", id, value),
      wakeStream: (id, value) => wake("stream", id, value),
      memoryBytes: 65_536,
    }),
    clock,
    entry: { begin: () => marks.push("begin"), end: () => marks.push("end") },
    onEnded: (cause) => causes.push(cause),
  })
  return { clock, woken, causes, marks, runner }
}

const bytes = (text: string): Uint8Array => Buffer.from(text)

describe("Results", () => {
  test("enter the guest in the order in which they came, once each", () => {
    const { runner, woken } = stage()
    runner.run(100)
    runner.streamed(0n, bytes("a"))
    runner.completed(2n, undefined)
    runner.streamed(0n, bytes("b"))
    runner.completed(1n, bytes("ok"))
    expect(runner.queuedBytes).toBe(4)
    expect(runner.run(100)).toBe(false)
    expect(woken).toEqual(["start", "stream 0 a", "future 2 nothing", "stream 0 b", "future 1 ok"])
    expect(runner.statistics()).toMatchObject({ wakeUps: 5, dropped: 0, queued: 0, memoryBytes: 65_536 })
    expect(runner.queuedBytes).toBe(0)
  })

  test("of operations that the guest does not have are counted, and nothing is told to have been taken", () => {
    const { runner, woken } = stage()
    const taken: string[] = []
    runner.streamed(0n, bytes("a"), () => taken.push("a"))
    runner.streamed(0n, undefined)
    runner.streamed(0n, bytes("after the end"), () => taken.push("after the end"))
    runner.completed(7n, bytes("unknown"))
    runner.run(100)
    expect(woken).toEqual(["start", "stream 0 a", "stream 0 nothing"])
    expect(taken).toEqual(["a"])
    expect(runner.statistics().dropped).toBe(2)
  })

  test("that arrive while the guest runs wait until it has returned", () => {
    let depth = 0
    const { runner, woken, marks } = stage((wakeUp) => {
      expect(++depth).toBe(1)
      if (wakeUp === "start") runner.completed(1n, undefined)
      depth--
    })
    runner.run(100)
    expect(woken).toEqual(["start", "future 1 nothing"])
    expect(marks).toEqual(["begin", "end", "begin", "end"])
  })

  test("wait for the next slice once this one is over", () => {
    const { runner, woken, clock } = stage((wakeUp) => {
      if (wakeUp !== "start") clock.advance(6)
    })
    runner.run(100)
    for (const value of ["a", "b", "c"]) runner.streamed(0n, bytes(value))
    expect(runner.run(10)).toBe(true)
    expect(woken).toEqual(["start", "stream 0 a", "stream 0 b"])
    expect(runner.run(10)).toBe(false)
    expect(runner.statistics()).toMatchObject({ runMs: 18, longestMs: 6 })
  })

  test("are all passed on, in order, when very many wait", () => {
    const { runner, woken } = stage()
    const values = Array.from({ length: 3000 }, (_, index) => String(index))
    for (const value of values) {
      runner.streamed(0n, bytes(value))
      if (value === "1500") runner.run(0)
    }
    while (runner.run(100));
    expect(woken).toEqual(["start", ...values.map((value) => `stream 0 ${value}`)])
  })
})

describe("A guest that throws", () => {
  test("is never entered again, its cause is told once, and nothing waits for it any more", () => {
    const { runner, woken, causes } = stage((wakeUp) => {
      if (wakeUp === "stream 0 b") throw new Error("unreachable")
    })
    for (const value of ["a", "b", "c"]) runner.streamed(0n, bytes(value))
    expect(runner.run(100)).toBe(false)
    runner.completed(1n, bytes("late"))
    runner.run(100)
    expect(woken).toEqual(["start", "stream 0 a", "stream 0 b"])
    expect(causes).toEqual([new Error("unreachable")])
    expect(runner.statistics()).toMatchObject({ queued: 0, memoryBytes: 0 })
    expect(runner.queuedBytes).toBe(0)
  })

  test("at its start has ended as well", () => {
    const { runner, causes } = stage(() => {
      throw new Error("exit 1")
    })
    runner.run(100)
    expect(causes).toEqual([new Error("exit 1")])
  })
})
