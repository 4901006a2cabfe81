/** Random lives of objects, as a server logs them, split, shuffled and wrapped, become the state that the server has. */
import { gzipSync } from "node:zlib"
import fc from "fast-check"
import { expect, test } from "vitest"
import { compareResourceVersions, parseResourceVersion } from "../../src/kube/offline.ts"
import type { JsonObject, JsonValue, ObjectEvent } from "../../src/trace/index.ts"
import { rounds } from "../harness/effort.ts"
import { imported } from "./imported.ts"
import { comparable, ModelServer, modelKinds, type Step } from "./model-server.ts"

const kind = fc.constantFrom(...modelKinds)
const name = fc.constantFrom("a", "b")
const value = fc.integer({ min: 0, max: 9 })
const written = fc.constantFrom(
  "create" as const,
  "create" as const,
  "update" as const,
  "patch" as const,
  "no-op" as const,
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: written, kind, name, value }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("delete" as const), kind, name, grace: fc.constantFrom(undefined, 0, 5) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("finalize" as const, "unfinalize" as const), kind, name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("bind" as const, "run" as const, "evict" as const), name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("scale" as const), name, value }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("clear" as const), kind }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("read" as const, "fail" as const, "dry-run" as const),
      kind,
      name,
      value,
    }),
  },
)

type Wrap = (events: ReadonlyArray<JsonObject>) => string | Uint8Array

const lines = (values: ReadonlyArray<JsonValue>): string => values.map((each) => `${JSON.stringify(each)}\n`).join("")
const wraps: Readonly<Record<string, Wrap>> = {
  plain: lines,
  compressed: (events) => gzipSync(lines(events)),
  webhook: (events) =>
    lines([
      {
        ...{ kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {} },
        items: events.map(({ kind: _, apiVersion: __, ...event }) => event),
      },
    ]),
  pages: (events) =>
    JSON.stringify({ events: events.map((event) => ({ message: JSON.stringify(event) })) }, undefined, 4),
  records: (events) =>
    events.map((event) => JSON.stringify({ messageType: "DATA_MESSAGE", logEvents: [{ message: event }] })).join(""),
  messages: (events) => lines(events.map((event) => ({ "@message": event }))),
  texts: (events) => lines([{ logEvents: events.map((event) => ({ message: JSON.stringify(event) })) }]),
  document: (events) => JSON.stringify(events, undefined, 2),
  exported: (events) => events.map((event) => `2026-03-01T12:00:00.000Z ${JSON.stringify(event)}\n`).join(""),
}

/** How a log is split into files, and in which order the events of a few seconds are in each. */
const layout = fc.record({
  servers: fc.integer({ min: 1, max: 3 }),
  rotateAfter: fc.integer({ min: 3, max: 60 }),
  jitter: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 20 }),
  wrap: fc.constantFrom(...Object.keys(wraps)),
})

const logsOf = (
  events: ReadonlyArray<JsonObject>,
  { servers, rotateAfter, jitter, wrap }: typeof layout extends fc.Arbitrary<infer T> ? T : never,
) => {
  const files: JsonObject[][] = []
  for (let server = 0; server < servers; server++) {
    // Seven times 0.6 s is less than the window for reordering.
    const own = events
      .map((event, index) => {
        const time = Date.parse(String(event.stageTimestamp))
        return { event, index, place: time + (jitter[index % jitter.length] ?? 0) * 600 }
      })
      .filter(({ index }) => index % servers === server)
      .toSorted((one, other) => one.place - other.place)
      .map(({ event }) => event)
    for (let start = 0; start < own.length; start += rotateAfter) files.push(own.slice(start, start + rotateAfter))
  }
  return files.map((file) => wraps[wrap]?.(file) ?? "")
}

test("what is imported is what the server has, at the end and in between", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 120, size: "max" }), layout, async (steps, how) => {
      const server = new ModelServer()
      server.take({ do: "create", kind: "ConfigMap", name: "first", value: 0 })
      for (const each of steps) server.take(each)
      const { items, summary } = await imported(logsOf(server.events, how))
      expect(summary).toMatchObject({
        found: 0,
        unseenDeletions: 0,
        superseded: 0,
        late: 0,
        gaps: 0,
        unknown: { count: 0 },
      })
      const state = new Map<string, unknown>()
      const versions = new Map<string, string>()
      let time = 0
      for (const item of items) {
        if (item.type !== "event" || item.event.type !== "object") continue
        const { event } = item
        expect(event.time).toBeGreaterThanOrEqual(time)
        time = event.time
        expectRising(versions, event)
        const key = `${event.gvk.slice(event.gvk.lastIndexOf(".") + 1)} ${event.name}`
        if (event.action === "applied") state.set(key, comparable(JSON.parse(Buffer.from(event.object).toString())))
        else expect(state.delete(key)).toBe(true)
      }
      expect(state).toEqual(server.state)
    }),
    { numRuns: rounds(400) },
  )
})

test("without responses nothing is invented, and every kind that was written to has a gap or its end", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: "max" }), async (steps) => {
      const server = new ModelServer()
      server.take({ do: "create", kind: "ConfigMap", name: "first", value: 0 })
      for (const each of steps) server.take(each)
      const events = server.events.map(({ requestObject: _, responseObject: __, ...event }) => ({
        ...event,
        level: "Metadata",
      }))
      const { items, summary } = await imported([lines(events)])
      expect(summary.changes).toBe(0)
      const gaps = items.flatMap((item) => (item.type === "event" && item.event.type === "gap" ? [item.event] : []))
      expect(gaps.length).toBeGreaterThan(0)
      for (const { fromTime, toTime, time } of gaps) expect([fromTime <= time, time <= toTime]).toEqual([true, true])
    }),
    { numRuns: rounds(200) },
  )
})

const expectRising = (versions: Map<string, string>, { uid, resourceVersion }: ObjectEvent): void => {
  const [before, now] = [parseResourceVersion(versions.get(uid) ?? "1"), parseResourceVersion(resourceVersion)]
  if (before === undefined || now === undefined) throw new Error("not a version")
  expect(compareResourceVersions(now, before)).toBeGreaterThanOrEqual(0)
  versions.set(uid, resourceVersion)
}
