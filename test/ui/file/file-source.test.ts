/** What the page finds in a file is what was in the trace. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { healthOf, toneIn } from "../../../src/timeline/index.ts"
import type { TraceItem } from "../../../src/trace/index.ts"
import { fileSource } from "../../../src/ui/file/file-source.ts"
import type { ObjectChange } from "../../../src/ui/source/source.ts"
import { SourceError } from "../../../src/ui/source/source.ts"
import { rounds } from "../../harness/effort.ts"
import { anyEvents } from "../../trace/views/any-events.ts"
import { dataIn, sourceOf, written } from "./written-file.ts"

const signal = new AbortController().signal
const all = { from: 0, to: Number.MAX_SAFE_INTEGER }
const wanted = { ...all, owned: false, owners: false, withStates: true }

type ObjectItem = Extract<TraceItem, { type: "event" }>["event"] & { readonly type: "object" }

const start = 1_763_683_200_000_000

const header: TraceItem = {
  type: "header",
  window: { start, end: start + 60_000_000 },
  cut: 0,
  kinds: ["v1.Pod", "v1.Secret"],
  incomplete: [{ gvk: "v1.Secret", state: "forbidden" }],
}

let sequence = 0
const change = (
  name: string,
  seconds: number,
  more: Partial<Omit<ObjectItem, "object">> & { readonly object?: object | string; readonly isSnapshot?: boolean } = {},
): TraceItem => {
  const { isSnapshot = false, object = {}, ...facts } = more
  const metadata = { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: String(1000 + sequence) }
  const json =
    typeof object === "string" ? object : JSON.stringify({ apiVersion: "v1", kind: "Pod", metadata, ...object })
  return {
    type: "event",
    isSnapshot,
    event: {
      ...{ type: "object", sequence: ++sequence, time: start + seconds * 1e6, gvk: "v1.Pod", action: "applied" },
      ...{ uid: `uid-${name}`, namespace: "shop", name, resourceVersion: metadata.resourceVersion },
      ...facts,
      object: Buffer.from(facts.action === "vanished" ? "" : json),
    },
  }
}

const changesOf = async (
  items: ReadonlyArray<TraceItem>,
  object: { gvk: string; namespace: string; name: string; uid: string },
) => {
  const found: ObjectChange[] = []
  await sourceOf(items).changes({ ...wanted, object }, (each) => found.push(each), signal)
  return found
}

describe("a trace in a file", () => {
  test("has every change of every object, with its state, time and version", async () => {
    await fc.assert(
      fc.asyncProperty(anyEvents, async (items) => {
        const source = sourceOf(items)
        const lanes = await source.lanes({ ...all, offset: 0, limit: 100 }, signal)
        const expected = items.flatMap((item) =>
          item.type === "event" && item.event.type === "object" && !item.isSnapshot ? [item.event] : [],
        )
        const histogram = await source.histogram({ ...all, width: 7 }, signal)
        expect(histogram.reduce((sum, each) => sum + each, 0)).toBe(expected.length)
        expect(lanes.lanes.reduce((sum, { objects }) => sum + objects, 0)).toBe(
          new Set(
            items.flatMap((item) =>
              item.type === "event" && item.event.type === "object" ? [firstOf(items, item.event)] : [],
            ),
          ).size,
        )
        const found: ObjectChange[] = []
        const seen = new Set<string>()
        for (const event of expected) {
          // An object is what it was called first.
          const key = `${event.gvk} ${event.uid || `${event.namespace}/${event.name}`}`
          if (event.uid === "" || seen.has(key)) continue
          seen.add(key)
          const first = items.find(
            (item) =>
              item.type === "event" &&
              item.event.type === "object" &&
              item.event.uid === event.uid &&
              item.event.gvk === event.gvk,
          )
          if (first?.type !== "event" || first.event.type !== "object") throw new Error("it is there")
          const { gvk, namespace, name, uid } = first.event
          await source.changes({ ...wanted, object: { gvk, namespace, name, uid } }, (each) => found.push(each), signal)
        }
        const byObject = (each: { sequence: number }): number => each.sequence
        const plain = expected.filter(({ uid }) => uid !== "")
        expect(found.map(byObject).sort()).toEqual(plain.map(byObject).sort())
        for (const each of found) {
          const event = plain.find((other) => other.sequence === each.sequence)
          expect(each.time).toBe(event?.time)
          expect(each.resourceVersion).toBe(event?.resourceVersion)
          expect(each.state).toEqual(
            event?.action === "vanished" ? undefined : JSON.parse(String(Buffer.from(event?.object ?? ""))),
          )
        }
      }),
      { numRuns: rounds(160) },
    )
  })

  test("gives back states that are edited in any way, byte by byte", async () => {
    const value = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.nat(),
      fc.array(fc.nat(99), { maxLength: 60 }),
    )
    const state = fc.dictionary(fc.constantFrom("a", "b", "c", "spec", "status"), value)
    await fc.assert(
      fc.asyncProperty(fc.array(state, { minLength: 1, maxLength: 12 }), async (states) => {
        const items = states.map((object, at) => change("web", at, { object }))
        const found = await changesOf([header, ...items], { gvk: "v1.Pod", namespace: "shop", name: "web", uid: "" })
        const expected = items.map(
          (item) =>
            item.type === "event" &&
            item.event.type === "object" &&
            JSON.parse(Buffer.from(item.event.object).toString()),
        )
        expect(found.map((each) => each.state)).toEqual(expected)
      }),
      { numRuns: rounds(200) },
    )
  })

  test("judges every state as one that is read as a whole", async () => {
    const [count, seconds] = [
      fc.nat(12),
      fc.nat(59).map((each) => `2025-11-21T00:00:${String(each).padStart(2, "0")}Z`),
    ]
    const state = fc.record({
      phase: fc.constantFrom("Running", "Pending"),
      startTime: seconds,
      message: count.map((each) => `waited ${each}, ${each} times: ${each}`),
      isReady: fc.constantFrom("True", "False"),
      restartCount: count,
      exitCode: fc.nat(2),
      isGoing: fc.boolean(),
      nested: fc.constantFrom({}, { status: { phase: "Failed" } }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(state, { minLength: 1, maxLength: 12 }), async (states) => {
        const objects = states.map(({ isReady, restartCount, exitCode, isGoing, nested, ...status }) => ({
          metadata: { name: "web", ...(isGoing && { deletionTimestamp: status.startTime }) },
          spec: { padding: "x".repeat(2000), ...nested },
          status: {
            ...status,
            conditions: [{ type: "Ready", status: isReady }],
            containerStatuses: [{ name: "c", restartCount, state: { terminated: { exitCode } } }],
          },
        }))
        const source = sourceOf([header, ...objects.map((object, at) => change("web", at, { object }))])
        for (const [at, object] of objects.entries()) {
          const time = start + at * 1e6
          const asked = { from: time, to: time, width: 1, lanes: ["object/0"], parts: false }
          await source.tiles(
            asked,
            ({ columns }) => expect(toneIn(columns[0] ?? 0)).toBe(healthOf("v1.Pod", object).tone),
            signal,
          )
        }
      }),
      { numRuns: rounds(200) },
    )
  })

  test("names objects as hostile as they are, and stays one document", async () => {
    const name = "</script><script>alert(1)</script>\u202e\u0000<!--"
    const html = written([header, change(name, 1)])
    expect(html.match(/<script/g)).toHaveLength(5)
    expect(html).not.toContain("alert(1)")
    const source = fileSource(dataIn(html), "a trace")
    const found = await source.laneOf({ ...all, gvk: "v1.Pod", namespace: "shop", name }, signal)
    expect(found?.lane.object.name).toBe(name)
  })

  test("says what is lost, and hatches it", async () => {
    const gap = {
      type: "gap",
      sequence: 9,
      time: start + 9e6,
      gvk: "v1.Pod",
      namespace: "",
      fromVersion: "",
      toVersion: "",
    } as const
    const lost = { ...gap, fromTime: start + 30e6, toTime: start + 40e6, reason: "expired", detail: "too old" } as const
    const source = sourceOf([
      header,
      change("web", 0, { isSnapshot: true }),
      { type: "event", isSnapshot: false, event: lost },
    ])
    const { lacks, kinds } = await source.overview(signal)
    expect(lacks.map(({ type, why }) => [type, why])).toEqual([
      ["gap", "expired: too old"],
      ["unrecorded", "the kind was not watched: forbidden"],
    ])
    expect(kinds.map(({ gvk, since }) => [gvk, since])).toEqual([
      ["v1.Pod", start],
      ["v1.Secret", 0],
    ])
    const columns: number[][] = []
    const asked = { from: start, to: start + 60e6 - 1, width: 6, lanes: ["object/0"], parts: false }
    await source.tiles(asked, (tile) => columns.push([...tile.columns]), signal)
    expect(columns).toEqual([[2, 2, 2, 18, 18, 2]])
  })

  test("an object that is not JSON is there, and is said to be none", async () => {
    const found = await changesOf([header, change("web", 1, { object: "{ cut off" }), change("web", 2)], {
      gvk: "v1.Pod",
      namespace: "shop",
      name: "web",
      uid: "uid-web",
    })
    expect(found.map(({ state, differences }) => [state === undefined, differences])).toEqual([
      [true, [{ path: "", after: "not a JSON object: { cut off" }]],
      [false, []],
    ])
  })

  test("objects of traces without UIDs are told apart by their names, and so are their owners", async () => {
    const reference = { apiVersion: "apps/v1", kind: "Deployment", name: "web" }
    const owned = { metadata: { name: "web-1", namespace: "shop", ownerReferences: [reference] } }
    const source = sourceOf([
      { type: "header", cut: 0, kinds: [], incomplete: [] },
      change("web", 0, { gvk: "apps/v1.Deployment", uid: "", resourceVersion: "" }),
      change("web-1", 1, { uid: "", resourceVersion: "", object: owned }),
    ])
    const found = await source.laneOf({ ...all, gvk: "v1.Pod", namespace: "shop", name: "web-1" }, signal)
    expect(found).toMatchObject({ above: ["namespace/shop", "object/0"], lane: { object: { uid: "", name: "web-1" } } })
  })

  test("what went wrong is in it, and what differs between two moments", async () => {
    const failed = { status: { phase: "Failed", message: "evicted" } }
    const source = sourceOf([
      header,
      change("web", 0, { isSnapshot: true, object: { status: { phase: "Running" } } }),
      change("web", 10, { object: failed }),
      change("new", 20),
      change("web", 30, { action: "deleted", object: failed }),
    ])
    const findings: unknown[] = []
    await source.findings(all, (each) => findings.push(each), signal)
    expect(findings).toEqual([
      expect.objectContaining({
        code: "failed-pod",
        lane: "object/0",
        message: "evicted",
        from: start + 10e6,
        to: start + 30e6,
      }),
      { progress: 1 },
    ])
    const different: unknown[] = []
    await source.differences({ from: start, to: start + 15e6 }, (each) => different.push(each), signal)
    await source.differences(
      { from: start, to: start + 50e6 },
      ({ type, object }) => different.push([type, object.name]),
      signal,
    )
    expect(different).toEqual([
      expect.objectContaining({
        type: "changed",
        differences: [
          { path: "status.phase", before: "Running", after: "Failed" },
          { path: "status.message", after: "evicted" },
        ],
      }),
      ["deleted", "web"],
      ["created", "new"],
    ])
  })

  test("an empty trace is a page, and a damaged file is said to be damaged", async () => {
    const { span, kinds } = await sourceOf([header]).overview(signal)
    expect([span, kinds.length]).toEqual([{ from: start, to: start + 60e6 - 1 }, 2])
    await expect(sourceOf([]).lanes({ ...all, offset: 0, limit: 9 }, signal)).resolves.toEqual({
      total: 0,
      lanes: [],
      lacks: [],
    })
    const data = dataIn(written([header, change("web", 1)]))
    const blocks = data.blocks.map(({ name }) => ({ name, text: () => "AAAA" }))
    expect(() => fileSource({ ...data, blocks }, "")).toThrow(SourceError)
  })
})

/** The identity of an event's object: a deleted object without a UID may have a successor. */
const firstOf = (
  items: ReadonlyArray<TraceItem>,
  { gvk, uid, namespace, name, sequence: until }: ObjectItem,
): string => {
  if (uid !== "") return `${gvk} ${uid}`
  const lives = items.filter(
    ({ ...item }) =>
      item.type === "event" &&
      item.event.type === "object" &&
      item.event.sequence < until &&
      item.event.action !== "applied" &&
      item.event.uid === "" &&
      item.event.gvk === gvk &&
      item.event.namespace === namespace &&
      item.event.name === name,
  )
  return JSON.stringify([gvk, namespace, name, lives.length])
}
