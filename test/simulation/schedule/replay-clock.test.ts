import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ApiClient } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { Replay } from "../../../src/simulation/replay/replay.ts"
import { ReplayClock } from "../../../src/simulation/schedule/replay-clock.ts"
import { openDecoder, type TraceItem } from "../../../src/trace/index.ts"
import { patient } from "../../harness/patience.ts"
import { type PublishedName, publishedTrace, whyNoPublished } from "../../trace/formats/traces.ts"
import { plainReplay } from "../replay/plain-replay.ts"
import { change, chunks, traceOf } from "../replay/random-trace.ts"
import { differences, stateAt } from "../trace-state.ts"

// A replay may start anywhere in a trace: what it creates first is the state that the trace has there.

const instants = 5

/** Replays nothing but the state at a moment, into a cluster without workload controllers, and compares. */
const seededWrongly = async (items: ReadonlyArray<TraceItem>, moment: number): Promise<ReadonlyArray<string>> => {
  await using sandbox = await Sandbox.start({ lifecycle: true })
  const client = new ApiClient({ server: sandbox.endpoint, userAgent: "kubereel-test" })
  try {
    const window = { from: moment, to: moment, duration: undefined, now: moment }
    const options = { ...plainReplay(client, "instant", chunks(items), moment), window, keep: true }
    const report = await new Replay(options).run()
    expect(report).toMatchObject({ stopped: null, refused: [], events: { total: 0 } })
    const header = items.find(({ type }) => type === "header")
    const named = header?.type === "header" ? header.kinds : []
    const state = stateAt(items, moment)
    const kinds = new Set([...named, ...[...state.values()].map(({ gvk }) => gvk)])
    return await differences(client, state, kinds)
  } finally {
    client.close()
  }
}

/** A moment at which something changes, or between two. Not the very start: nothing would have to be found out there. */
const momentIn = (items: ReadonlyArray<TraceItem>): fc.Arbitrary<number> => {
  const times = items.flatMap((item) => (item.type === "event" && !item.isSnapshot ? [item.event.time] : []))
  const distinct = [...new Set(times)].toSorted((left, right) => left - right)
  return fc
    .tuple(fc.integer({ min: 1, max: distinct.length - 1 }), fc.boolean())
    .map(([index, isBetween]) => (distinct[index] ?? 0) - (isBetween ? 1 : 0))
}

describe("a published trace", () => {
  const read = async (name: PublishedName): Promise<ReadonlyArray<TraceItem>> => {
    const decoder = await openDecoder("simkube")
    const bytes = publishedTrace(name)
    const items: TraceItem[] = []
    const add = (part: Iterable<TraceItem>): void => {
      for (const item of part)
        items.push(
          item.type === "event" && item.event.type === "object"
            ? { ...item, event: { ...item.event, object: Uint8Array.from(item.event.object) } }
            : structuredClone(item),
        )
    }
    add(decoder.push(bytes))
    add(decoder.end())
    return items
  }

  test.for(["dsb-scaling.sktrace", "bare-pods.sktrace"] as const)(
    "%s is seeded with its state at any instant",
    { timeout: patient(20_000) },
    async (name, context) => {
      if (whyNoPublished !== undefined) context.skip(whyNoPublished)
      const items = await read(name)
      const property = fc.asyncProperty(momentIn(items), async (moment) => {
        expect(await seededWrongly(items, moment)).toEqual([])
      })
      await fc.assert(property, { numRuns: instants })
    },
  )
})

test(
  "a trace with custom kinds, owners and cluster-scoped objects is seeded with its state at any instant",
  async () => {
    const traces = fc.array(change, { minLength: 20, maxLength: 60 }).map(traceOf)
    const started = traces.chain((items) => momentIn(items).map((moment) => ({ items, moment })))
    const property = fc.asyncProperty(started, async ({ items, moment }) => {
      expect(await seededWrongly(items, moment)).toEqual([])
    })
    await fc.assert(property, { numRuns: instants })
  },
  patient(20_000),
)

/** µs since the Unix epoch. */
const start = 1_763_700_000_000_000
const seconds = (count: number): number => start + count * 1_000_000

describe("a moment of the trace is due", () => {
  test("at start + (moment - first moment) / speed, whatever was asked before", () => {
    const moments = fc.array(fc.nat(1_000_000_000), { minLength: 1, maxLength: 20 })
    const speed = fc.double({ min: 0.01, max: 1000, noNaN: true })
    fc.assert(
      fc.property(moments, speed, fc.nat(100_000), (offsets, at, nowMs) => {
        const clock = new ReplayClock(start, at, nowMs)
        for (const offset of offsets) expect(clock.dueMs(start + offset)).toBeCloseTo(nowMs + offset / 1000 / at, 6)
      }),
    )
  })

  test("at once at speed max, and if it is before the first", () => {
    expect(new ReplayClock(start, "max", 500).dueMs(seconds(3600))).toBe(500)
    expect(new ReplayClock(start, 1, 500).dueMs(seconds(-5))).toBe(500)
  })

  test("never while the clock is paused before it, and later by the pause afterwards", () => {
    const clock = new ReplayClock(start, 2, 0)
    clock.pause(1000)
    expect([clock.dueMs(seconds(1)), clock.dueMs(seconds(4)), clock.isPaused]).toEqual([500, Infinity, true])
    clock.pause(5000)
    clock.resume(13_000)
    clock.resume(20_000)
    expect([clock.dueMs(seconds(4)), clock.isPaused]).toEqual([14_000, false])
    expect([clock.pausedMs(20_000), new ReplayClock(start, 1, 0, true).pausedMs(700)]).toEqual([12_000, 700])
  })

  test("by the new speed from its change on", () => {
    const clock = new ReplayClock(start, 1, 0)
    clock.setSpeed(10, 5000)
    expect(clock.dueMs(seconds(15))).toBe(6000)
    clock.setSpeed("max", 5500)
    expect(clock.dueMs(seconds(1000))).toBe(5500)
    clock.reached(seconds(100))
    clock.setSpeed(1, 6000)
    expect(clock.dueMs(seconds(101))).toBe(7000)
  })

  test("at its own time if that has passed, whatever is done to the clock since", () => {
    const clock = new ReplayClock(start, 1, 0)
    clock.setSpeed(10, 5000)
    clock.pause(6000)
    clock.setSpeed(2, 7000)
    clock.resume(8000)
    clock.setSpeed("max", 9000)
    // Before the change, at speed 10, while it was paused, and at speed 2.
    expect([3, 10, 15, 16].map((second) => clock.dueMs(seconds(second)))).toEqual([3000, 5500, 6000, 8500])
    expect([16, 18].map((second) => clock.isTimed(seconds(second)))).toEqual([true, false])
    clock.reached(seconds(15))
    expect(clock.dueMs(seconds(16))).toBe(8500)
  })

  test("with the pauses before it, whatever happens afterwards", () => {
    const clock = new ReplayClock(start, 1, 0, true)
    clock.resume(400)
    clock.pause(2400)
    clock.step(seconds(3), 2900)
    clock.resume(3400)
    clock.setSpeed(2, 4400)
    clock.reached(seconds(5))
    clock.delay(100)
    const pauses = [0, 1, 2, 3, 3.5, 5, 9].map((second) => clock.pausedBeforeMs(seconds(second)))
    // The third second was due in a step, half a second after the pause had begun.
    expect(pauses).toEqual([0, 400, 400, 900, 1400, 1400, 1400])
  })

  test("after a step to it, and nothing after it", () => {
    const clock = new ReplayClock(start, 1, 0)
    clock.step(seconds(9), 500)
    expect(clock.dueMs(seconds(9))).toBe(9000)
    clock.pause(1000)
    clock.step(seconds(5), 2000)
    expect([clock.dueMs(seconds(5)), clock.isTimed(seconds(5)), clock.positionMicros(2500)]).toEqual([
      2000,
      false,
      seconds(5),
    ])
    expect(clock.dueMs(seconds(6))).toBe(Infinity)
    clock.resume(4000)
    expect([clock.dueMs(seconds(5)), clock.dueMs(seconds(6)), clock.pausedMs(9000)]).toEqual([2000, 5000, 3000])
  })

  test("later by what the clock is delayed, which adds up", () => {
    const clock = new ReplayClock(start, 1, 0)
    clock.delay(300)
    clock.delay(200)
    expect([clock.dueMs(seconds(1)), clock.delayedMs]).toEqual([1500, 500])
  })

  test("at the time at which it was due, also if the replay has passed it long ago", () => {
    const clock = new ReplayClock(start, 1, 0)
    clock.reached(seconds(2))
    clock.pause(3000)
    clock.resume(13_000)
    clock.reached(seconds(5))
    // The moment that is late stays late; what follows is delayed.
    clock.delay(700)
    clock.setSpeed(10, 20_000)
    clock.reached(seconds(60))
    expect([1, 3, 5, 6, 10].map((second) => clock.dueMs(seconds(second)))).toEqual([1000, 3000, 15_000, 16_700, 20_070])
  })
})

type Command = readonly ["pause" | "resume" | "delay" | "wait" | "speed" | "step", number]

test("whatever is done to it, it never goes back, and what lies ahead is due in the order of the trace", () => {
  const command: fc.Arbitrary<Command> = fc.tuple(
    fc.constantFrom("pause", "resume", "delay", "wait", "speed", "step"),
    fc.integer({ min: 1, max: 1000 }),
  )
  fc.assert(
    fc.property(fc.array(command, { maxLength: 30 }), (commands) => {
      const clock = new ReplayClock(start, 1, 0)
      let nowMs = 0
      let position = start
      for (const [what, amount] of commands) {
        if (what === "pause") clock.pause(nowMs)
        if (what === "resume") clock.resume(nowMs)
        if (what === "delay") clock.delay(amount)
        if (what === "speed") clock.setSpeed(amount / 100, nowMs)
        if (what === "step") clock.step(position + amount * 1000, nowMs)
        if (what === "wait") nowMs += amount
        // A delay holds the trace where it is.
        if (what !== "delay") {
          expect(clock.positionMicros(nowMs)).toBeGreaterThanOrEqual(start)
          if (!commands.some(([each]) => each === "delay"))
            expect(clock.positionMicros(nowMs)).toBeGreaterThanOrEqual(position - 0.01)
        }
        position = clock.positionMicros(nowMs)
        expect(clock.dueMs(position + 1_000_000)).toBeLessThanOrEqual(clock.dueMs(position + 2_000_000))
      }
    }),
  )
})
