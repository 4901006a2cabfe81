/** The calls into one module: their order, what is dropped, what its end means, and unloading. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type Guest, ModuleRunner } from "../../../../src/host/dispatcher/worker/module-runner.ts"
import type { GuestImage } from "../../../../src/host/guest/guest-image.ts"
import type { OperationHost } from "../../../../src/host/guest/guest-operations.ts"
import { ManualClock } from "../../../runtime/manual-clock.ts"
import { imageWith } from "../../guest/image-with.ts"

type Script = (calls: OperationHost, wakeUp: string) => void

/** A runner whose guest is a script: it is called with "start" and with each wake-up, and its state is what it was woken with. */
class Stage {
  readonly clock = new ManualClock()
  readonly woken: string[] = []
  readonly started: string[] = []
  readonly causes: unknown[] = []
  readonly unloadFailures: unknown[] = []
  readonly marks: string[] = []
  disk: GuestImage | undefined
  isDiskFull = false
  instances = 0
  readonly runner: ModuleRunner

  constructor(script: Script = () => undefined) {
    this.runner = new ModuleRunner({
      make: (calls, image) => {
        this.instances++
        return this.#guest(script, calls, image)
      },
      operations: {
        watch: (id) => this.started.push(`watch ${id}`),
        request: (id) => this.started.push(`request ${id}`),
        delay: (id, ms) => this.started.push(`delay ${id} ${ms}`),
      },
      unloading: {
        images: {
          write: (image) => {
            if (this.isDiskFull) throw new Error("no space left on device")
            this.disk = image
          },
          read: () => {
            if (this.disk === undefined) throw new Error("nothing was written")
            return this.disk
          },
          remove: () => {
            this.disk = undefined
          },
        },
        onFailed: (cause) => this.unloadFailures.push(cause),
      },
      clock: this.clock,
      entry: { begin: () => this.marks.push("begin"), end: () => this.marks.push("end") },
      onEnded: (cause) => this.causes.push(cause),
    })
  }

  #guest(script: Script, calls: OperationHost, image: GuestImage | undefined): Guest {
    const state: string[] = image === undefined ? [] : JSON.parse(Buffer.from(image.memory).toString())
    const enter = (wakeUp: string): void => {
      state.push(wakeUp)
      this.woken.push(wakeUp)
      script(calls, wakeUp)
    }
    const text = (value: Uint8Array | undefined): string =>
      value === undefined ? "nothing" : Buffer.from(value).toString()
    return {
      start: () => enter("start"),
      wakeFuture: (id, value) => enter(`future ${id} ${text(value)}`),
      wakeStream: (id, value) => enter(`stream ${id} ${text(value)}`),
      memoryBytes: 65_536,
      image: () => imageWith(Buffer.from(JSON.stringify(state))),
    }
  }
}

const bytes = (text: string): Uint8Array => Buffer.from(text)
const kind = { kind: "Pod" } as never
const get = { method: "GET" } as never

/** Starts watch 0, request 1 and delay 2. */
const asksForAll: Script = (calls, wakeUp) => {
  if (wakeUp !== "start") return
  calls.watch(0n, kind)
  calls.request(1n, get)
  calls.delay(2n, 50n)
}

describe("Results", () => {
  test("enter the guest in the order in which they came, once each", () => {
    const stage = new Stage(asksForAll)
    stage.runner.run(100)
    expect(stage.started).toEqual(["watch 0", "request 1", "delay 2 50"])
    stage.runner.streamed(0n, bytes("a"))
    stage.runner.completed(2n, undefined)
    stage.runner.streamed(0n, bytes("b"))
    stage.runner.completed(1n, bytes("ok"))
    expect(stage.runner.run(100)).toBe(false)
    expect(stage.woken).toEqual(["start", "stream 0 a", "future 2 nothing", "stream 0 b", "future 1 ok"])
    expect(stage.runner.statistics()).toMatchObject({
      wakeUps: 5,
      dropped: 0,
      queued: 0,
      queuedBytes: 0,
      openWatches: 1,
    })
  })

  test("of unknown, ended and other operations are dropped and counted, because they would trap the guest", () => {
    const stage = new Stage(asksForAll)
    stage.runner.run(100)
    stage.runner.streamed(7n, bytes("unknown"))
    stage.runner.completed(0n, bytes("of a watch"))
    stage.runner.streamed(1n, bytes("of a request"))
    stage.runner.completed(1n, bytes("ok"))
    stage.runner.completed(1n, bytes("again"))
    stage.runner.streamed(0n, undefined)
    stage.runner.streamed(0n, bytes("after the end"))
    stage.runner.run(100)
    expect(stage.woken).toEqual(["start", "future 1 ok", "stream 0 nothing"])
    expect(stage.runner.statistics()).toMatchObject({ dropped: 5, openWatches: 0, openRequests: 0, openDelays: 1 })
  })

  test("that arrive while the guest runs wait until it has returned", () => {
    let depth = 0
    const stage: Stage = new Stage((calls, wakeUp) => {
      expect(++depth).toBe(1)
      if (wakeUp === "start") calls.delay(0n, 0n)
      stage.runner.completed(0n, undefined)
      depth--
    })
    stage.runner.run(100)
    stage.runner.run(100)
    expect(stage.woken).toEqual(["start", "future 0 nothing"])
    expect(stage.marks).toEqual(["begin", "end", "begin", "end"])
  })

  test("wait for the next slice once this one is over", () => {
    const stage: Stage = new Stage((calls, wakeUp) => {
      if (wakeUp === "start") calls.watch(0n, kind)
      else stage.clock.advance(6)
    })
    stage.runner.run(100)
    for (const value of ["a", "b", "c"]) stage.runner.streamed(0n, bytes(value))
    expect(stage.runner.run(10)).toBe(true)
    expect(stage.woken).toEqual(["start", "stream 0 a", "stream 0 b"])
    expect(stage.runner.run(10)).toBe(false)
    expect(stage.runner.statistics()).toMatchObject({ runMs: 18, longestMs: 6 })
  })
})

describe("A guest that throws", () => {
  test("is never entered again, its cause is told once, and nothing waits for it any more", () => {
    const stage = new Stage((calls, wakeUp) => {
      asksForAll(calls, wakeUp)
      if (wakeUp === "stream 0 b") throw new Error("unreachable")
    })
    stage.runner.run(100)
    for (const value of ["a", "b", "c"]) stage.runner.streamed(0n, bytes(value))
    expect(stage.runner.run(100)).toBe(false)
    stage.runner.completed(1n, bytes("late"))
    stage.runner.run(100)
    expect(stage.woken).toEqual(["start", "stream 0 a", "stream 0 b"])
    expect(stage.causes).toEqual([new Error("unreachable")])
    expect(stage.runner.hasEnded).toBe(true)
    expect(stage.runner.statistics()).toMatchObject({ queued: 0, queuedBytes: 0, memoryBytes: 0 })
  })

  test("at its start has ended as well", () => {
    const stage = new Stage(() => {
      throw new Error("exit 1")
    })
    stage.runner.run(100)
    expect(stage.causes).toEqual([new Error("exit 1")])
  })
})

describe("An idle guest", () => {
  test("is unloaded, and the next result loads it as it was", () => {
    const stage = new Stage((calls, wakeUp) => (wakeUp === "start" ? calls.watch(0n, kind) : undefined))
    stage.runner.run(100)
    stage.clock.advance(999)
    expect(stage.runner.unloadIfIdle(1000)).toBe(false)
    stage.clock.advance(1)
    expect(stage.runner.unloadIfIdle(1000)).toBe(true)
    expect(stage.runner.isLoaded).toBe(false)
    expect(Buffer.from(stage.disk?.memory ?? []).toString()).toBe('["start"]')
    stage.runner.streamed(0n, bytes("a"))
    stage.runner.run(100)
    expect(stage.woken).toEqual(["start", "stream 0 a"])
    expect(stage.instances).toBe(2)
    stage.clock.advance(1000)
    stage.runner.unloadIfIdle(1000)
    expect(Buffer.from(stage.disk?.memory ?? []).toString()).toBe('["start","stream 0 a"]')
  })

  test("stays loaded while a request is open or something waits", () => {
    const stage = new Stage(asksForAll)
    stage.runner.run(100)
    stage.clock.advance(60_000)
    expect(stage.runner.unloadIfIdle(1000)).toBe(false)
    stage.runner.completed(1n, bytes("ok"))
    expect(stage.runner.unloadIfIdle(1000)).toBe(false)
    stage.runner.run(100)
    stage.clock.advance(1000)
    expect(stage.runner.unloadIfIdle(1000)).toBe(true)
  })

  test("stays loaded if its image cannot be written, and that is told once per idle time", () => {
    const stage = new Stage()
    stage.runner.run(100)
    stage.isDiskFull = true
    stage.clock.advance(1000)
    expect([stage.runner.unloadIfIdle(1000), stage.runner.unloadIfIdle(1000)]).toEqual([false, false])
    expect(stage.unloadFailures).toHaveLength(1)
    expect(stage.runner.isLoaded).toBe(true)
  })

  test("whose image cannot be read has ended", () => {
    const stage = new Stage((calls, wakeUp) => (wakeUp === "start" ? calls.watch(0n, kind) : undefined))
    stage.runner.run(100)
    stage.clock.advance(1000)
    stage.runner.unloadIfIdle(1000)
    stage.disk = undefined
    stage.runner.streamed(0n, bytes("a"))
    stage.runner.run(100)
    expect(stage.causes).toEqual([new Error("nothing was written")])
  })
})

test("whatever comes in whatever order, the guest gets each value of its open operations once, in order, unloaded or not", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("value" as const), watch: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ type: fc.constant("end" as const), watch: fc.integer({ min: 0, max: 3 }) }),
    fc.constant({ type: "run" as const }),
    fc.constant({ type: "idle" as const }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const stage = new Stage((calls, wakeUp) => {
        if (wakeUp === "start") for (const id of [0n, 1n, 2n]) calls.watch(id, kind)
      })
      stage.runner.run(100)
      const ended = new Set<number>()
      const expected = ["start"]
      let number = 0
      for (const each of steps) {
        if (each.type === "run") stage.runner.run(100)
        else if (each.type === "idle") {
          stage.clock.advance(1000)
          stage.runner.unloadIfIdle(1000)
        } else {
          const isOpen = each.watch < 3 && !ended.has(each.watch)
          const value = each.type === "end" ? "nothing" : String(++number)
          stage.runner.streamed(BigInt(each.watch), each.type === "end" ? undefined : bytes(value))
          if (isOpen) expected.push(`stream ${each.watch} ${value}`)
          if (each.type === "end") ended.add(each.watch)
        }
      }
      stage.runner.run(100)
      expect(stage.woken).toEqual(expected)
    }),
  )
})
