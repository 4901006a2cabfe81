import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { OutsideTrace } from "../../../src/simulation/replay/replay-root.ts"
import {
  type ReplayWindow,
  type TraceChange,
  type TracePart,
  traceChanges,
} from "../../../src/simulation/replay/trace-changes.ts"
import { UpcomingChanges } from "../../../src/simulation/replay/upcoming-changes.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { plainPlanner } from "./plain-replay.ts"

// How far a trace is read ahead.

const change = (name: string, bytes: number): TracePart => {
  const metadata = { name, namespace: "shop" }
  const empty = JSON.stringify({ metadata, data: { filler: "" } })
  const object = Buffer.from(JSON.stringify({ metadata, data: { filler: "x".repeat(bytes - empty.length) } }))
  return { type: "change", change: { time: 1, gvk: "v1.ConfigMap", namespace: "shop", name, object } }
}

/** Reads ahead, of changes that come one by one, as far as that goes; returns how many. */
const readOf = async (bytes: number): Promise<{ readonly upcoming: UpcomingChanges; readonly read: () => number }> => {
  let read = 0
  async function* parts(): AsyncGenerator<ReadonlyArray<TracePart>, void> {
    yield [{ type: "beginning", header: undefined, time: 0, objects: [] }]
    for (; ; read++) yield [change(`config-${read}`, bytes)]
  }
  const upcoming = new UpcomingChanges(parts())
  await upcoming.open()
  upcoming.start(plainPlanner())
  return { upcoming, read: () => read }
}

const readAll = async (upcoming: UpcomingChanges): Promise<void> => {
  for (let reading = upcoming.readAhead(); reading !== undefined; reading = upcoming.readAhead()) await reading
}

test("a few hundred changes are read ahead, but only 8 MB of large ones, and more as they are taken", async () => {
  const usual = await readOf(3000)
  await readAll(usual.upcoming)
  expect(usual.read()).toBe(511)
  const large = await readOf(1_000_000)
  await readAll(large.upcoming)
  expect(large.read()).toBe(7)
  large.upcoming.take()
  large.upcoming.take()
  await readAll(large.upcoming)
  expect(large.read()).toBe(9)
})

const all: ReplayWindow = { from: undefined, to: undefined, duration: undefined, now: 1e15 }

const header = (start: number, end: number): TraceItem => ({
  type: "header",
  window: { start, end },
  cut: 1,
  kinds: [],
  incomplete: [],
})

interface Change {
  readonly time: number
  readonly name: string
  readonly text: string | undefined
  readonly gvk?: string
  readonly isSnapshot?: boolean
}

const item = ({ time, name, text, gvk = "v1.ConfigMap", isSnapshot = false }: Change): TraceItem => ({
  type: "event",
  isSnapshot,
  event: {
    type: "object",
    sequence: 1,
    time,
    gvk,
    action: text === undefined ? "deleted" : "applied",
    uid: "",
    namespace: "shop",
    name,
    resourceVersion: "",
    object: Buffer.from(text ?? ""),
  },
})

/** `300 a=1`, a state; `300 a=`, a deletion; `20 a=1 before`, a state of the snapshot. */
const items = (...lines: ReadonlyArray<string>): ReadonlyArray<TraceItem> =>
  lines.map((line) => {
    const [time, change = "", before] = line.split(" ")
    const [name = "", text] = change.split("=")
    return item({ time: Number(time), name, text: text || undefined, isSnapshot: before !== undefined })
  })

const read = async (
  trace: ReadonlyArray<TraceItem>,
  window: Partial<ReplayWindow> = {},
  readsOn = false,
): Promise<TracePart[]> => {
  const chunks = (async function* () {
    for (const each of trace) yield [each]
  })()
  const parts: TracePart[] = []
  for await (const chunk of traceChanges(chunks, { ...all, ...window }, readsOn)) parts.push(...chunk)
  return parts
}

const textOf = ({ object }: TraceChange): string | undefined => object && Buffer.from(object).toString()

/** `[time, objects at the start, changes, end]`, objects and changes as `name=text`. */
const brief = (parts: ReadonlyArray<TracePart>) =>
  parts.map((part) => {
    if (part.type === "beginning")
      return `from ${part.time}: ${part.objects.map((each) => `${each.name}=${textOf(each)}`).join(" ")}`.trimEnd()
    if (part.type === "change") return `${part.change.time} ${part.change.name}=${textOf(part.change) ?? ""}`
    return part.type === "end" ? `to ${part.time}` : part.type
  })

describe("a trace is replayed", () => {
  const batches: ReadonlyArray<TraceItem> = [
    { type: "batch", time: 100 },
    ...items("100 a=1 before"),
    { type: "batch", time: 200 },
    ...items("200 a=2"),
    { type: "batch", time: 700 },
  ]
  const middle = [header(100, 900), ...items("20 a=1 before", "20 b=1 before", "300 a=2", "350 b=", "400 c=1")]
  const two = [header(100, 900), ...items("300 a=1", "400 a=2")]

  test.each<[string, ReadonlyArray<TraceItem>, Partial<ReplayWindow>, string]>([
    [
      "from the start of its window, with the objects of its snapshot, to the end of its window",
      [header(100, 900), ...items("20 a=1 before", "300 a=2", "500 a=")],
      {},
      "from 100: a=1, 300 a=2, 500 a=, to 900",
    ],
    [
      "to its last event if its window ends in the future, which no recording contains",
      [header(100, 2e15), ...items("300 a=1")],
      {},
      "from 100:, 300 a=1, to 300",
    ],
    [
      "from its first event if its window begins with the recording",
      [header(0, 900), ...items("300 a=1")],
      {},
      "from 300:, 300 a=1, to 900",
    ],
    [
      "from the first batch of SimKube's format, whose objects are the state there, to its last batch",
      batches,
      {},
      "from 100: a=1, 200 a=2, to 700",
    ],
    ["from a moment in its middle, with the state there", middle, { from: 400 }, "from 400: a=2, 400 c=1, to 900"],
    [
      "from its start if the moment is before that",
      middle,
      { from: 50 },
      "from 100: a=1 b=1, 300 a=2, 350 b=, 400 c=1, to 900",
    ],
    ["up to a moment, exclusively", two, { to: 400 }, "from 100:, 300 a=1, to 400"],
    ["for a duration, exclusively", two, { duration: 250 }, "from 100:, 300 a=1, to 350"],
  ])("%s", async (_, trace, window, expected) => {
    expect(brief(await read(trace, window)).join(", ")).toBe(expected)
  })

  test.each([{ from: 5000 }, { to: 100 }])("not at all in a window outside of it: %o", async (window) => {
    await expect(read(middle, window)).rejects.toBeInstanceOf(OutsideTrace)
  })

  test.each([
    ["until its last pod ends, if nothing marks its end (W-34)", false, 9_000_000],
    ["to its end mark, although pods end later", true, 5_000_000],
  ])("%s", async (_title, isMarked, end) => {
    const pods = new Map([
      [
        1n,
        [
          { state: "finished" as const, start: 2, end: 9 },
          { state: "running" as const, start: 20 },
        ],
      ],
    ])
    const trace: ReadonlyArray<TraceItem> = [
      { type: "batch", time: 2_000_000 },
      item({ time: 2_000_000, name: "a", text: "1" }),
      ...(isMarked ? [{ type: "batch" as const, time: 5_000_000 }] : []),
      { type: "lifecycles", gvk: "batch/v1.Job", owner: "shop/a", pods },
    ]
    expect((await read(trace)).at(-1)).toEqual({ type: "end", time: end })
    expect((await read(trace, { to: 4_000_000 })).at(-1)).toEqual({ type: "end", time: 4_000_000 })
  })

  test("with owners and namespaces before what needs them", async () => {
    const gvks = ["v1.Pod", "apps/v1.Deployment", "v1.Namespace", "v1.ConfigMap"]
    const objects = gvks.map((gvk) => item({ time: 1, name: gvk, text: "1", gvk, isSnapshot: true }))
    const [beginning] = await read([header(100, 900), ...objects])
    expect(beginning?.type === "beginning" && beginning.objects.map(({ gvk }) => gvk)).toEqual([
      "v1.Namespace",
      "v1.ConfigMap",
      "apps/v1.Deployment",
      "v1.Pod",
    ])
  })
})

test("whatever the history and wherever it starts, state and changes together give the history's final state", async () => {
  const change = fc.record({
    passed: fc.nat(3),
    name: fc.constantFrom("a", "b", "c"),
    text: fc.option(fc.constantFrom("1", "2"), { nil: undefined }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 20 }), fc.nat(70), async (history, from) => {
      let time = 10
      const changes = history.map(({ passed, name, text }) => {
        time += passed
        return item({ time, name, text })
      })
      const [beginning, ...rest] = await read([header(10, 1000), ...changes], { from })
      const state = new Map<string, string>()
      const apply = (each: TraceChange): void => {
        const text = textOf(each)
        if (text === undefined) state.delete(each.name)
        else state.set(each.name, text)
      }
      if (beginning?.type === "beginning") for (const each of beginning.objects) apply(each)
      for (const part of rest)
        if (part.type === "change") {
          expect(part.change.time).toBeGreaterThanOrEqual(from)
          apply(part.change)
        }
      const wanted = new Map<string, string>()
      for (const { name, text } of history)
        if (text === undefined) wanted.delete(name)
        else wanted.set(name, text)
      expect(state).toEqual(wanted)
    }),
  )
})

describe("lives of pods", () => {
  const lives: TraceItem = { type: "lifecycles", gvk: "batch/v1.Job", owner: "shop/once", pods: new Map() }
  const trace = [{ ...header(100, 900), hasLifecycles: true } as TraceItem, ...items("300 a=1", "500 a=2"), lives]
  const whole = ["from 100:", "300 a=1", "500 a=2", "lives", "to 900"]

  test("are passed on", async () => {
    expect(brief(await read(trace))).toEqual(whole)
    expect(brief(await read(trace, {}, true))).toEqual(whole)
  })

  test("follow the end of a window that is cut, for those who want them", async () => {
    expect(brief(await read(trace, { to: 400 }))).toEqual(["from 100:", "300 a=1", "to 400"])
    expect(brief(await read(trace, { to: 400 }, true))).toEqual(["from 100:", "300 a=1", "to 400", "lives"])
  })

  test("are not looked for behind the window of a trace that has none", async () => {
    let isClosed = false
    async function* endless(): AsyncGenerator<ReadonlyArray<TraceItem>, void> {
      try {
        yield [header(100, 900)]
        for (let time = 300; ; time++) yield [item({ time, name: "a", text: String(time) })]
      } finally {
        isClosed = true
      }
    }
    const parts: TracePart[] = []
    for await (const chunk of traceChanges(endless(), { ...all, to: 302 }, true)) parts.push(...chunk)
    expect([brief(parts).at(-1), isClosed]).toEqual(["to 302", true])
  })
})
