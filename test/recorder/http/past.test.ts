/** Questions about the past over HTTP: of a recording in a directory, which serves the same interface as a recorder. */
import { mkdtempSync, rmSync } from "node:fs"
import { type IncomingMessage, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { type OfflineRecording, openOfflineRecording } from "../../../src/recorder/offline-recording.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"

const count = 3000
const gvk = "v1.Pod"

let directory: string
let recording: OfflineRecording
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-past-"))
  const writer = ArchiveWriter.open(directory, { now: () => START, limits: { blockBytes: 60_000 } })
  writer.append("watcher", 1, 1, encodeFrame({ gvk, completeThrough: "1" }))
  for (let number = 1; number <= count; number++) {
    const object = JSON.stringify({ metadata: { name: `object-${number}` }, filler: "x".repeat(3000) })
    const event = { action: "applied" as const, number, time: START + number, version: number + 1, object }
    writer.append(
      "watcher",
      1,
      number + 1,
      encodeFrame({ gvk, newObjects: [number], events: [event], completeThrough: `${number + 1}` }),
    )
  }
  writer.commit()
  writer.close()
  recording = await openOfflineRecording(directory, () => undefined)
})
afterAll(async () => {
  await recording.close()
  rmSync(directory, { recursive: true, force: true })
})

const get = (path: string, accept = "application/json", from = recording): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request({ path, headers: { accept }, createConnection: () => from.connect() }, resolve)
    sent.on("error", reject)
    sent.end()
  })

const bodyOf = async (response: IncomingMessage): Promise<string> => {
  const pieces: Buffer[] = []
  for await (const piece of response) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

test("a document has its items and what is missing; a small page says where the next begins", async () => {
  const response = await get(`/v1/objects?kind=Pod&limit=2&order=change`)
  expect([response.statusCode, response.headers["content-type"]]).toEqual([200, "application/json"])
  const page = JSON.parse(await bodyOf(response))
  expect(page).toMatchObject({
    type: "end",
    isComplete: true,
    gaps: [],
    items: [{ name: `object-${count}` }, { name: `object-${count - 1}` }],
  })
  const next = JSON.parse(
    await bodyOf(await get(`/v1/objects?kind=Pod&limit=2&order=change&at=${START + count}&continue=${page.continue}`)),
  )
  expect(next.items.map(({ name }: { name: string }) => name)).toEqual([`object-${count - 2}`, `object-${count - 3}`])
})

test("an answer without items is a document too", async () => {
  expect(JSON.parse(await bodyOf(await get("/v1/objects?kind=v1.Secret")))).toMatchObject({
    items: [],
    isComplete: false,
  })
  expect(JSON.parse(await bodyOf(await get("/v1/kinds")))).toMatchObject({ items: [{ gvk, discovered: null }] })
})

test("a large answer streams whole, a line for each object, and the end is the last line", async () => {
  const lines = (await bodyOf(await get("/v1/objects?kind=Pod", "application/x-ndjson"))).trimEnd().split("\n")
  expect(lines.length).toBe(count + 1)
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ type: "end", isComplete: true })
  expect(new Set(lines.slice(0, -1).map((line) => JSON.parse(line).object.metadata.name)).size).toBe(count)
})

test("a large answer can be given up: the next question is answered, and the end waits for nothing", {
  // A query that went on would hold up the end for ten seconds.
  timeout: 8000,
}, async () => {
  const own = await openOfflineRecording(directory, () => undefined)
  const response = await get("/v1/objects?kind=Pod", "application/x-ndjson", own)
  const first = await new Promise<Buffer>((resolve) => response.once("data", resolve))
  expect(first.length).toBeLessThan(count * 3000)
  response.destroy()
  const { items } = JSON.parse(await bodyOf(await get("/v1/objects?kind=Pod&limit=1", "application/json", own)))
  expect(items.length).toBe(1)
  await own.close()
})

test("a moment before the beginning has no objects, and is not called complete", async () => {
  const answer = JSON.parse(await bodyOf(await get(`/v1/objects?kind=Pod&at=${START - 60_000_000}`)))
  expect(answer).toMatchObject({ items: [], isComplete: false })
})

test.each([
  ["/v1/objects?kind=Nonsense", 404, /no recorded kind is called "Nonsense"; recorded are v1.Pod/],
  ["/v1/objects", 400, /name one kind/],
  ["/v1/objects?kind=Pod&continue=x", 400, /the continuation/],
  ["/v1/objects?kind=Pod&labels=a%3D%3D%3D", 400, /the label selector/],
  ["/v1/changes?field=a%5B", 400, /the field a\[/],
  ["/v1/changes?owned=true", 400, /an owner tree is that of one object/],
])("%s is refused with %i", async (path, status, message) => {
  const response = await get(path)
  expect([response.statusCode, await bodyOf(response)]).toEqual([status, expect.stringMatching(message)])
})
