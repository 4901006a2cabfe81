/** The time line over HTTP, of a recording in a directory. */
import { mkdtempSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { answerOf } from "../../../src/actors/reader/answer.ts"
import type { Question } from "../../../src/actors/reader/question.ts"
import { ArchiveWriter, QueriedRecording } from "../../../src/archive/index.ts"
import { type OfflineRecording, openOfflineRecording } from "../../../src/recorder/offline-recording.ts"
import { marks, toneIn, tones } from "../../../src/timeline/index.ts"
import { encodeFrame, gapAt, nameOf, type SampleFrame, START } from "../../archive/sample-frames.ts"
import { withDatabase } from "../../archive/sample-recording.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"

const pods = "v1.Pod"
const nodes = "v1.Node"
const second = 1_000_000
const at = (seconds: number): number => START + seconds * second

const pod = (number: number, status: object): string =>
  JSON.stringify({ metadata: nameOf(pods, number), spec: { containers: [{ name: "main" }] }, status })
const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] }
const crashing = {
  phase: "Running",
  containerStatuses: [{ name: "main", restartCount: 1, state: { waiting: { reason: "CrashLoopBackOff" } } }],
}

/**
 * Pod 1 crashes at 10 s and is deleted at 20 s; pod 4, of the same namespace, lives on, and pod 2 in another; node 3 is never ready. 30 to 31 s: a gap of Pods;
 * 33 to 36 s: they were received late.
 */
const record = (directory: string): void => {
  let [time, frames] = [START, 0]
  const writer = ArchiveWriter.open(directory, { now: () => time, limits: { blockBytes: 100 } })
  const append = (frame: SampleFrame): void => {
    time = frame.events?.[0]?.time ?? time
    writer.append("watcher", 1, ++frames, encodeFrame({ ...frame, completeThrough: String(frames) }))
    writer.commit()
  }
  const applied = (seconds: number, number: number, status: object, isNew = false): void =>
    append({
      gvk: pods,
      newObjects: isNew ? [number] : [],
      events: [{ action: "applied", number, time: at(seconds), version: ++frames, object: pod(number, status) }],
    })
  append({ gvk: pods })
  const node = JSON.stringify({ status: { conditions: [{ type: "Ready", status: "Unknown", message: "no news" }] } })
  append({
    gvk: nodes,
    newObjects: [3],
    events: [{ action: "applied", number: 3, time: START, version: 1, object: node }],
  })
  applied(1, 1, running, true)
  applied(2, 2, running, true)
  applied(3, 4, running, true)
  applied(10, 1, crashing)
  append({
    gvk: pods,
    events: [{ action: "deleted", number: 1, time: at(20), version: ++frames, object: pod(1, crashing) }],
  })
  const late = { receivedFrom: at(36), receivedTo: at(36), events: 1, cause: "disconnected", namespace: "" } as const
  append({
    gvk: pods,
    gaps: [{ ...gapAt(at(31)), fromTime: at(30) }],
    lateRanges: [{ ...late, notBefore: at(33), notAfter: at(36) }],
    events: [{ action: "applied", number: 4, time: at(36), version: ++frames, object: pod(4, running) }],
  })
  writer.close()
}

let directory: string
let recording: OfflineRecording
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-timeline-"))
  record(directory)
  recording = await openOfflineRecording(directory, () => undefined)
})
afterAll(async () => {
  await recording.close()
  rmSync(directory, { recursive: true, force: true })
})

const get = (path: string, from = recording): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request({ path, createConnection: () => from.connect() }, (response) => {
      let text = ""
      response.on("data", (piece: Buffer) => {
        text += piece.toString()
      })
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on("error", reject)
    sent.end()
  })
const answer = async (path: string, from = recording) => JSON.parse((await get(path, from)).text)

const window = `from=${at(0)}&to=${at(40) - 1}`
const columnsOf = (tile: { readonly columns: string }): number[] => [...Buffer.from(tile.columns, "base64")]

test("namespaces, and the objects in them that existed at any moment, changed or not", async () => {
  const { items, total } = await answer(`/v1/lanes?${window}`)
  expect(total).toBe(3)
  expect(items.map((lane: { name: string; objects: number }) => [lane.name, lane.objects])).toEqual([
    ...[
      ["", 1],
      ["ns-1", 2],
      ["ns-2", 1],
    ],
  ])
  const late = await answer(`/v1/lanes?from=${at(25)}&to=${at(26)}&parent=${items[1].id}`)
  expect(late.items).toMatchObject([{ laneType: "object", gvk: pods, name: "object-4", uid: "v1.Pod/4" }])
  const found = await answer(`/v1/lanes?${window}&find=JECT-2`)
  expect(found.items).toMatchObject([{ id: "namespace/ns-2", children: 1 }])
  const one = await answer(`/v1/lanes?${window}&kind=v1.Pod&namespace=ns-1&name=object-1`)
  expect(one.items).toMatchObject([{ name: "object-1", above: ["namespace/ns-1"] }])
  expect(await answer(`/v1/lanes?${window}&offset=1&limit=1`)).toMatchObject({ total: 3, items: [{ name: "ns-1" }] })
})

test("tiles have the tone at each column's end; what is not known is hatched", async () => {
  const { items } = await answer(`/v1/tiles?${window}&width=40&lane=1.1&lane=1.4&lane=1.99&lane=namespace/ns-1`)
  expect(items.map((tile: { lane: string; changes: number }) => [tile.lane, tile.changes])).toEqual([
    ...[
      ["1.1", 3],
      ["1.4", 2],
    ],
  ])
  const [crashed, other] = items.map(columnsOf)
  expect([0, 1, 10, 19, 20, 21].map((column) => toneIn(crashed[column]))).toEqual([
    ...[tones.absent, tones.good, tones.bad, tones.bad, tones.absent, tones.absent],
  ])
  expect(crashed[20] & marks.wasBad).toBe(marks.wasBad)
  expect(other[30] & marks.gap).toBe(marks.gap)
  expect(other[29] & marks.gap).toBe(0)
  expect([32, 33, 35, 37].map((column) => other[column] & marks.late)).toEqual([0, marks.late, marks.late, 0])
  expect(other[36] & marks.changed).toBe(marks.changed)
  const early = await answer(`/v1/tiles?from=${at(-10)}&to=${at(10) - 1}&width=20&lane=1.1`)
  expect([5, 10, 15].map((column) => toneIn(columnsOf(early.items[0])[column] ?? 0))).toEqual([
    ...[tones.unknown, tones.absent, tones.good],
  ])
})

test("conditions and containers have rows of their own", async () => {
  const { items } = await answer(`/v1/tiles?${window}&width=40&lane=1.1&parts=true`)
  const parts = Object.fromEntries(
    items.flatMap((tile: { part?: { id: string }; columns: string }) =>
      tile.part === undefined ? [] : [[tile.part.id, columnsOf(tile).map(toneIn)]],
    ),
  )
  expect(Object.keys(parts)).toEqual(["condition/Ready", "container/main"])
  expect([5, 15, 25].map((column) => parts["condition/Ready"][column])).toEqual([tones.good, 0, 0])
  expect([5, 15, 25].map((column) => parts["container/main"][column])).toEqual([0, tones.bad, 0])
})

test("the histogram counts every change once", async () => {
  const { counts } = await answer(`/v1/histogram?${window}&width=4`)
  expect(counts).toEqual([4, 1, 1, 1])
  expect((await answer(`/v1/histogram?${window}&width=4&namespace=ns-1`)).counts).toEqual([2, 1, 1, 1])
})

test("findings are what went wrong, also what was wrong before", async () => {
  const { items } = await answer(`/v1/findings?from=${at(5)}&to=${at(40)}`)
  const found = items.filter(({ type }: { type: string }) => type === "finding")
  expect(found).toMatchObject([
    { code: "crash-loop", lane: "1.1", from: at(10), to: at(20), object: { name: "object-1" }, count: 1 },
    { code: "node-not-ready", from: at(5), message: "no news" },
  ])
  expect(found[1].to).toBeUndefined()
  expect(items.at(-1)).toEqual({ type: "progress", done: 1 })
})

test.each([
  ["/v1/tiles?width=0", 400, /width must be/],
  ["/v1/tiles?width=9000", 400, /width must be/],
  ["/v1/histogram", 400, /width must be/],
  ["/v1/lanes?offset=-1", 400, /offset must be/],
  ["/v1/lanes?name=object-1", 400, /kind, namespace and name/],
  ["/v1/findings?kind=Nonsense", 404, /no recorded kind/],
])("%s is refused", async (path, status, message) => {
  const found = await get(path)
  expect([found.status, found.text]).toEqual([status, expect.stringMatching(message)])
})

test("more than 200 lanes at once are refused", async () => {
  const { status, text } = await get(`/v1/tiles?width=1${"&lane=1.1".repeat(201)}`)
  expect([status, text]).toEqual([400, expect.stringMatching(/at most 200 lanes/)])
})

const restricted = (question: Omit<Question, "from" | "to" | "known" | "shown">) => {
  const opened = QueriedRecording.open(directory)
  const shown = [{ gvk: pods, namespaces: ["ns-2"] }]
  const items: Array<{ readonly lane?: string; readonly name?: string; readonly type: string }> = []
  const steps = answerOf(opened, { ...question, from: at(0), to: at(40) - 1, known: [], shown })
  try {
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return { items, end: value }
      if (typeof value === "object" && value.length > 0) items.push(JSON.parse(value.join("")))
    }
  } finally {
    opened.close()
  }
}

test("a reader with few rights sees what it may: nothing of the other namespaces", () => {
  const lanes = restricted({ about: "lanes" })
  expect([lanes.items.map(({ name }) => name), lanes.end.isRestricted]).toEqual([["ns-2"], true])
  const tiles = restricted({ about: "tiles", width: 4, lanes: ["1.1", "1.2", "1.4", "2.3"], withParts: true })
  expect(new Set(tiles.items.map(({ lane }) => lane))).toEqual(new Set(["1.2"]))
  expect(restricted({ about: "histogram", width: 4 }).end.counts).toEqual([1, 0, 0, 0])
  expect(restricted({ about: "findings" }).items.filter(({ type }) => type === "finding")).toEqual([])
})

test("damage is passed over, and said: its states are plain, and when it changed is known", async () => {
  const damaged = temporaryDirectory()
  record(damaged)
  withDatabase(damaged, (database) =>
    database.exec(
      `UPDATE block SET data = zeroblob(length(data)) WHERE min_time >= ${at(10)} AND max_time < ${at(20)}`,
    ),
  )
  const own = await openOfflineRecording(damaged, () => undefined)
  const { items, gaps, isComplete } = await answer(`/v1/tiles?${window}&width=40&lane=1.1`, own)
  expect(columnsOf(items[0]).map(toneIn).slice(9, 12)).toEqual([tones.good, tones.plain, tones.plain])
  expect(items[0].changes).toBe(3)
  expect([isComplete, gaps.some(({ reason }: { reason: string }) => reason === "damaged")]).toEqual([false, true])
  expect((await answer(`/v1/findings?${window}&kind=v1.Pod`, own)).gaps).toMatchObject([{}, { reason: "damaged" }])
  await own.close()
})
