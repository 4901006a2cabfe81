/** The summary of a trace: what counts as created, changed and deleted, which objects exist, how long pods ran, what is largest. */
import { describe, expect, test } from "vitest"
import { PodTimes } from "../../../src/cli/inspect/pod-times.ts"
import { summaryLines } from "../../../src/cli/inspect/summary-lines.ts"
import { LargestObjects, TraceSummarizer } from "../../../src/cli/inspect/trace-summary.ts"
import { formatLocalTime } from "../../../src/local-time.ts"
import type { ObjectEvent, TraceItem } from "../../../src/trace/index.ts"

const second = 1_000_000
const start = Date.UTC(2026, 2, 2, 3) / 1000

let sequence = 0
const event = (at: number, given: Partial<ObjectEvent> & { readonly body?: object } = {}): ObjectEvent => {
  const { body = {}, ...rest } = given
  return {
    ...{ type: "object", sequence: ++sequence, time: (start + at) * second, gvk: "v1.ConfigMap", action: "applied" },
    ...{ uid: "u1", namespace: "shop", name: "prices", resourceVersion: "1" },
    object: Buffer.from(rest.action === "vanished" ? "" : JSON.stringify(body)),
    ...rest,
  }
}

const header: TraceItem = { type: "header", cut: 0, kinds: [], incomplete: [] }

const summaryOf = (...events: ReadonlyArray<readonly [event: ObjectEvent, isSnapshot?: boolean]>) => {
  const summarizer = new TraceSummarizer()
  summarizer.add(header)
  for (const [each, isSnapshot = false] of events) summarizer.add({ type: "event", event: each, isSnapshot })
  return summarizer.summary()
}

describe("objects", () => {
  test("that exist at the start are changed, not created, by their next event", () => {
    const { all } = summaryOf([event(0), true], [event(1)], [event(2, { action: "deleted" })])
    expect(all).toMatchObject({ atStart: 1, created: 0, changed: 1, deleted: 1, atEnd: 0 })
  })

  test("with another UID under the same name are created anew, and the deletion of the former may be told later", () => {
    const { all } = summaryOf(
      [event(0)],
      [event(1, { uid: "u2" })],
      [event(1, { uid: "u1", action: "deleted" })],
      [event(2, { uid: "u2" })],
    )
    expect(all).toMatchObject({ created: 2, changed: 1, deleted: 1, atEnd: 1 })
  })

  test("of traces without UIDs are known by their names", () => {
    const { all } = summaryOf(
      [event(0, { uid: "" })],
      [event(1, { uid: "" })],
      [event(2, { uid: "", action: "deleted" })],
    )
    expect(all).toMatchObject({ created: 1, changed: 1, deleted: 1, atEnd: 0 })
  })

  test("are counted by kind and by namespace", () => {
    const { kinds, namespaces } = summaryOf(
      [event(0)],
      [event(1, { gvk: "v1.Node", namespace: "", name: "n", uid: "n" })],
    )
    expect(kinds.map(({ name, created }) => [name, created])).toEqual([
      ["v1.ConfigMap", 1],
      ["v1.Node", 1],
    ])
    expect(namespaces.map(({ name }) => name).sort()).toEqual(["", "shop"])
  })

  test("whose deletion nobody saw are among the deleted ones", () => {
    const { all, vanished } = summaryOf([event(0)], [event(1, { action: "vanished" })])
    expect([all.deleted, all.atEnd, vanished]).toEqual([1, 0, 1])
  })
})

describe("pods", () => {
  const at = (seconds: number): string => new Date((start + seconds) * 1000).toISOString()
  const running = (from: number) => ({ running: { startedAt: at(from) } })
  const ended = (from: number, to: number) => ({ terminated: { startedAt: at(from), finishedAt: at(to) } })
  const pod = (time: number, uid: string, state: object, action: ObjectEvent["action"] = "applied"): ObjectEvent =>
    event(time, {
      ...{ gvk: "v1.Pod", uid, name: uid, action },
      body: { spec: { containers: [{}] }, status: { containerStatuses: [{ state }] } },
    })

  test("run from their first container's start to their end, their deletion, or the end of the trace", () => {
    const times = new PodTimes()
    for (const each of [
      pod(1, "ends", running(1)),
      pod(9, "ends", ended(1, 6)),
      pod(2, "deleted", running(2)),
      pod(12, "deleted", running(2), "deleted"),
      pod(3, "runs", running(3)),
      pod(4, "waits", { waiting: {} }),
    ])
      times.observe(each)
    expect(times.summary(start + 23)).toEqual({
      ...{ ran: 3, ended: 2, running: 1, total: 5 + 10 + 20 },
      times: { minimum: 5, median: 7.5, maximum: 10 },
    })
  })

  test("of a SimKube trace are those that it tells of", () => {
    const times = new PodTimes()
    times.told({
      ...{ gvk: "batch/v1.Job", owner: "shop/job" },
      pods: new Map([
        [1n, [{ state: "finished", start: 10, end: 40 }, { state: "running", start: 50 }, { state: "empty" }]],
      ]),
    })
    expect(times.summary(60)).toMatchObject({ ran: 2, ended: 1, running: 1, total: 40 })
  })

  test("that cannot be read change nothing", () => {
    const times = new PodTimes()
    times.observe({ ...pod(1, "a", {}), object: Buffer.from("{") })
    expect(times.summary(start)).toMatchObject({ ran: 0, times: undefined, total: 0 })
  })
})

test("the largest objects are listed once each, by their largest state", () => {
  const largest = new LargestObjects(2)
  for (const [name, bytes] of [
    ["a", 5],
    ["b", 9],
    ["a", 7],
    ["c", 6],
    ["a", 1],
    ["d", 8],
  ] as const)
    largest.add("v1.ConfigMap", "shop", name, bytes)
  expect(largest.list().map(({ name, bytes }) => [name, bytes])).toEqual([
    ["b", 9],
    ["d", 8],
  ])
})

test("people read what is missing, in lines that no name can break or colour", () => {
  const summarizer = new TraceSummarizer()
  summarizer.add({ ...header, incomplete: [{ gvk: "v1.Secret", state: "forbidden" }] })
  summarizer.add({ type: "event", event: event(0, { name: "a\u001b[31m\nb" }), isSnapshot: false })
  for (let index = 0; index < 12; index++)
    summarizer.add({
      type: "event",
      isSnapshot: false,
      event: {
        ...{ type: "gap", sequence: index, time: start * second, gvk: "v1.Pod", namespace: "shop", reason: "expired" },
        ...{ fromVersion: "1", toVersion: "2", fromTime: start * second, toTime: (start + 1) * second, detail: "410" },
      },
    })
  const lines = summaryLines("a.ndjson", "ndjson", summarizer.summary(), start * 1000)
  const local = (at: number): string => formatLocalTime((start + at) * 1000, start * 1000)
  expect(lines).toContain(`gap of v1.Pod in namespace shop from ${local(0)} to ${local(1)}: expired (410)`)
  expect(lines).toContain("and 2 further gaps")
  expect(lines).toContain("incomplete: v1.Secret: forbidden")
  expect(lines.join("")).not.toMatch(/\p{Cc}/u)
})
