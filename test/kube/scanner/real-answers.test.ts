/** Every line and list that a real API server sent us, compared with `JSON.parse`. */

import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { LineSplitter } from "../../../src/kube/scanner/line-splitter.ts"
import { ListScanner, ListSyntaxError } from "../../../src/kube/scanner/list-scanner.ts"
import { compileDetectRules, defaultIgnore } from "../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../src/kube/scanner/object/object-scanner.ts"
import { scanWatchLineSlowly, UnreadableError } from "../../../src/kube/scanner/slow-path.ts"
import { WatchEventType, WatchLineScanner, watchEventTypeOf } from "../../../src/kube/scanner/watch-line.ts"
import { expectFields, type Json } from "./expected-fields.ts"
import { pushInPieces } from "./pieces.ts"

const data = new URL("../../data/", import.meta.url)
const filesOf = (folder: string, pattern: RegExp): ReadonlyArray<string> =>
  readdirSync(new URL(folder, data))
    .filter((name) => pattern.test(name))
    .map((name) => `${folder}${name}`)

/** The body of a recorded HTTP response. */
const bodyOf = (file: string): Buffer => {
  const bytes = readFileSync(new URL(file, data))
  const [separator] = /\r?\n\r?\n/.exec(bytes.toString("latin1")) ?? [""]
  return bytes.subarray(bytes.indexOf(separator) + separator.length)
}

const gvk = { group: "apps", version: "v1", kind: "Deployment" }
const rules = compileDetectRules({ detect: "content", ignore: defaultIgnore(gvk, "content"), gvk })

interface WatchLine {
  readonly type: string
  readonly object: { [key: string]: Json }
}

/** Scans a watch body in pieces of `size` bytes; returns each line's value. */
const scanWatch = (body: Buffer, size: number): ReadonlyArray<WatchLine> => {
  const scanner = new WatchLineScanner(rules)
  const slowScanner = new WatchLineScanner(rules)
  const lines: WatchLine[] = []
  const splitter = new LineSplitter((bytes, start, end) => {
    const line = JSON.parse(bytes.toString("utf8", start, end)) as WatchLine
    lines.push(line)
    expect(scanner.scan(bytes, start, end)).toBe(true)
    expect(scanner.type).toBe(watchEventTypeOf(line.type))
    expect(JSON.parse(bytes.toString("utf8", scanner.objectStart, scanner.objectEnd))).toEqual(line.object)
    if (scanner.type === WatchEventType.error) return
    expectFields(bytes, scanner.objectStart, scanner.objectEnd, scanner.object, line.object)
    const slow = scanWatchLineSlowly(slowScanner, bytes, start, end)
    if (slow instanceof UnreadableError) throw slow
    expectFields(slow.bytes, slow.start, slow.end, slowScanner.object, line.object)
    expect(slowScanner.object.fingerprintLow).toBe(scanner.object.fingerprintLow)
    expect(slowScanner.object.fingerprintHigh).toBe(scanner.object.fingerprintHigh)
  })
  pushInPieces(body, [-size], splitter)
  expect(splitter.pendingBytes).toBe(0)
  return lines
}

const isWatch = (body: Buffer): boolean => /^\{"type":/.test(body.toString("utf8", 0, 10))
const watches = filesOf("apiserver/", /^watch-.*\.http$/).filter((file) => isWatch(bodyOf(file)))
const recordings = ["recording/", "recording-2/"].flatMap((folder) => filesOf(folder, /\.watch$/))
const lists = filesOf("apiserver/", /^list-.*\.http$/)

test("the recorded responses exist", () => {
  expect(watches.length).toBeGreaterThanOrEqual(4)
  expect(recordings.length).toBeGreaterThanOrEqual(16)
  expect(lists.length).toBeGreaterThanOrEqual(6)
})

describe("every line of", () => {
  test.each(watches)("%s is found as JSON.parse finds it", (file) => {
    const body = bodyOf(file)
    for (const size of [61, 4096, body.length]) {
      expect(scanWatch(body, size).length).toBe(
        body
          .toString()
          .split("\n")
          .filter((line) => line !== "").length,
      )
    }
  })

  test.each(recordings)("%s is found as JSON.parse finds it", (file) => {
    // Each line is prefixed with its receive time.
    const lines = readFileSync(new URL(file, data), "utf8").replaceAll(/^\d+\.\d+ /gm, "")
    expect(scanWatch(Buffer.from(lines), 1000).length).toBe(lines.split("\n").filter((line) => line !== "").length)
  })
})

describe("the response", () => {
  test.each(lists)("%s is split as by JSON.parse, whatever the size of the chunks", (file) => {
    const body = bodyOf(file)
    const value = JSON.parse(body.toString()) as {
      readonly kind: string
      readonly apiVersion: string
      readonly items?: ReadonlyArray<Json>
      readonly metadata: {
        readonly resourceVersion?: string
        readonly continue?: string
        readonly remainingItemCount?: number
      }
    }
    for (const size of [1, 2, 7, 64, 1000, body.length]) {
      const objects = new ObjectScanner(rules)
      const items: Json[] = []
      const scanner = new ListScanner((bytes, start, end) => {
        const item = JSON.parse(bytes.toString("utf8", start, end)) as Json
        items.push(item)
        expect(objects.scan(bytes, start, end)).toBe(true)
        expectFields(bytes, start, end, objects, item)
      })
      pushInPieces(body, [-size], scanner)
      expect(scanner.isComplete).toBe(true)
      expect(items).toEqual(value.items ?? [])
      expect(scanner.head).toEqual({
        kind: value.kind,
        apiVersion: value.apiVersion,
        resourceVersion: value.metadata.resourceVersion ?? "",
        continueToken: value.metadata.continue,
        remainingItemCount: value.metadata.remainingItemCount,
      })
    }
  })

  test("to an unauthorized request, which is a Status, is recognised by its kind", () => {
    const scanner = new ListScanner(() => expect.unreachable())
    const body = bodyOf("apiserver/unauthorized.http")
    scanner.push(body, 0, body.length)
    expect(scanner.head.kind).toBe("Status")
  })

  test("that has one watch line after another is not a list", () => {
    const body = bodyOf("apiserver/watch-deployments-scale-delete.http")
    const scanner = new ListScanner(() => expect.unreachable())
    expect(() => scanner.push(body, 0, body.length)).toThrow(ListSyntaxError)
  })
})

test("a Deployment's status changes keep its fingerprint, spec changes do not", () => {
  const scanner = new WatchLineScanner(rules)
  const seen = new Map<string, string>()
  let unchanged = 0
  const splitter = new LineSplitter((bytes, start, end) => {
    const { object } = JSON.parse(bytes.toString("utf8", start, end)) as WatchLine
    scanner.scan(bytes, start, end)
    const { status, metadata, apiVersion, kind, ...rest } = object
    const { resourceVersion, generation, managedFields, ...kept } = metadata as { [key: string]: Json }
    const content = JSON.stringify({ metadata: kept, ...rest })
    const print = `${scanner.object.fingerprintLow}:${scanner.object.fingerprintHigh}`
    if (seen.has(content)) unchanged++
    expect(seen.get(content) ?? print).toBe(print)
    seen.set(content, print)
  })
  const body = bodyOf("apiserver/watch-deployments-scale-delete.http")
  splitter.push(body, 0, body.length)
  expect(new Set(seen.values()).size).toBe(seen.size)
  expect(seen.size).toBeGreaterThan(3)
  expect(unchanged).toBeGreaterThan(5)
})
