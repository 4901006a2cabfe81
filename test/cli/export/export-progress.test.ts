import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, onTestFinished, test } from "vitest"
import type { Forecast } from "../../../src/cli/export/export-forecast.ts"
import {
  type ExportState,
  expectedLines,
  renderProgress,
  showProgress,
} from "../../../src/cli/export/export-progress.ts"
import { checkTrace } from "../../../src/cli/export/trace-check.ts"
import { exportCommand } from "../../../src/cli/export.ts"
import { createLiveLine } from "../../../src/cli/terminal/live-line.ts"
import type { ObjectEvent } from "../../../src/trace/event.ts"
import { NdjsonWriter } from "../../../src/trace/formats/ndjson/ndjson-writer.ts"
import type { MessagePackValue } from "../../../src/trace/formats/simkube/message-pack/message-pack.ts"
import { MessagePackExtent } from "../../../src/trace/formats/simkube/message-pack/message-pack-extent.ts"
import { encodeMessagePack } from "../../../src/trace/formats/simkube/message-pack/message-pack-writer.ts"
import { patient } from "../../harness/patience.ts"
import { capturedOutput, capturedTerminal } from "../captured-terminal.ts"

const forecast = (objects: number, events: number, countedBefore: readonly string[] = []): Forecast => ({
  window: { start: 0, end: 1 },
  kinds: [{ gvk: "v1.Pod", state: "watching", detail: "", objects, events, ranges: [], gaps: [] }],
  countedBefore: [...countedBefore],
  incomplete: [],
  leftOut: [],
  unknownOwners: { count: 0, first: [] },
  refusals: [],
})

const event = (sequence: number): ObjectEvent => ({
  type: "object",
  sequence,
  time: sequence,
  gvk: "v1.Pod",
  action: "applied",
  uid: `uid-${sequence}`,
  namespace: "shop",
  name: "web",
  resourceVersion: String(sequence),
  object: Buffer.from('{"spec":{}}'),
})

/** The lines of a trace of some events. */
const ndjson = (events: number): ReadonlyArray<string> => {
  const writer = new NdjsonWriter({ window: { start: 0, end: 1 }, cut: 1, kinds: ["v1.Pod"], incomplete: [] })
  for (let sequence = 0; sequence < events; sequence++) writer.add(event(sequence))
  return Buffer.from(writer.end())
    .toString()
    .split(/(?<=\n)/)
}

describe("the progress line of an export", () => {
  const state: ExportState = {
    sinceFirstByteMs: 2000,
    elapsedMs: 3000,
    bytes: 12_300_000,
    count: { unit: "line", number: 3000, of: undefined },
    expected: { number: 12_000, accuracy: "about" },
  }
  const line = (changes: Partial<ExportState>): string => renderProgress("waiting", { ...state, ...changes })

  test("has bytes, lines or events, and the time left, if they are known", () => {
    expect(line({})).toBe("exporting: 12 MB, 3,000 of about 12,000 lines, 6 s left")
    expect(line({ count: { unit: "event", number: 500, of: 1000 } })).toBe(
      "exporting: 12 MB, 500 of 1,000 events, 2 s left",
    )
    expect(line({ expected: { number: 12_000, accuracy: "at most" } })).toBe(
      "exporting: 12 MB, 3,000 of at most 12,000 lines, at most 6 s left",
    )
    expect(line({ expected: undefined })).toBe("exporting: 12 MB, 3,000 lines")
    expect(line({ count: undefined })).toBe("exporting: 12 MB, 3 s")
    expect(line({ count: undefined, elapsedMs: 900 })).toBe("exporting: 12 MB")
  })

  test("estimates nothing from the first second, and nothing from an expectation that is exceeded", () => {
    expect(line({ sinceFirstByteMs: 999 })).toBe("exporting: 12 MB, 3,000 of about 12,000 lines")
    expect(line({ count: { unit: "event", number: 0, of: 10 } })).toBe("exporting: 12 MB, 0 of 10 events")
    expect(line({ count: { unit: "line", number: 12_001, of: undefined } })).toBe("exporting: 12 MB, 12,001 lines")
    expect(line({ count: { unit: "line", number: 12_000, of: undefined } })).toBe(
      "exporting: 12 MB, 12,000 of about 12,000 lines",
    )
  })

  test("says how long nothing has arrived", () => {
    expect(line({ sinceFirstByteMs: undefined })).toBe("waiting: 3 s")
  })

  test("continues while nothing arrives, and ends when stopped", () => {
    let now = 0
    let waiting: { at: number; action: () => void }[] = []
    const clock = {
      monotonicMs: () => now,
      after(delayMs: number, action: () => void) {
        const entry = { at: now + delayMs, action }
        waiting.push(entry)
        const cancel = () => {
          waiting = waiting.filter((each) => each !== entry)
        }
        return { cancel }
      },
    }
    const advanceTo = (ms: number): void => {
      for (let next = dueBy(ms); next !== undefined; next = dueBy(ms)) {
        now = next.at
        waiting = waiting.filter((each) => each !== next)
        next.action()
      }
      now = ms
    }
    const dueBy = (ms: number) => waiting.filter(({ at }) => at <= ms).sort((one, other) => one.at - other.at)[0]
    const stream = capturedOutput({ isTTY: true, columns: 80 })
    const progress = showProgress(createLiveLine({ stream, isEnabled: true, clock }), clock, "waiting")
    const painted = (): string | undefined => stream.text().split("\r\u001b[K").at(-1)
    advanceTo(900)
    expect(stream.text()).toBe("")
    advanceTo(2100)
    expect(painted()).toBe("waiting: 2 s")
    let number = 10
    progress.expect({ number: 40, accuracy: "about" })
    progress.received(1000, () => ({ unit: "line", number, of: undefined }))
    advanceTo(4100)
    expect(painted()).toBe("exporting: 1.0 kB, 10 of about 40 lines, 6 s left")
    number = 20
    advanceTo(5100)
    expect(painted()).toBe("exporting: 1.0 kB, 20 of about 40 lines, 3 s left")
    progress.close()
    expect(painted()).toBe("")
    expect(waiting).toEqual([])
  })
})

describe("the expected lines of a trace", () => {
  test("are its objects, changes and gaps; fewer may arrive if filters were not applied", () => {
    expect(expectedLines(forecast(10, 20))).toEqual({ number: 30, accuracy: "about" })
    expect(expectedLines(forecast(10, 20, ["owner filters"]))).toEqual({ number: 30, accuracy: "at most" })
  })

  test("are requested in parallel with the export on a terminal, and never for a file in the background", async () => {
    const lines = ndjson(8)
    const asked: boolean[] = []
    let finish: (() => void) | undefined
    const server = createServer((request, response: ServerResponse) => {
      let text = ""
      request.setEncoding("utf8").on("data", (piece: string) => {
        text += piece
      })
      request.on("end", () => {
        const isDry = (JSON.parse(text) as { dry_run?: boolean }).dry_run === true
        asked.push(isDry)
        response.setHeader("Kubereel-Request-Id", "r")
        if (isDry) {
          response.setHeader("Content-Type", "application/json")
          response.end(JSON.stringify(forecast(3, 5)))
        } else {
          response.write(lines.slice(0, 4).join(""))
          finish = () => response.end(lines.slice(4).join(""))
          if (!isWatched) finish()
        }
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    const words = ["-s", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "-o", "-"]
    let isWatched = false
    const background = capturedTerminal()
    expect(await exportCommand().run(words, background)).toBe(0)
    expect(asked).toEqual([false])
    expect(background.standardError.text()).not.toContain("exporting")
    isWatched = true
    const watched = capturedTerminal({ error: { isTTY: true, columns: 80 } })
    const ended = exportCommand().run(words, watched)
    await expect
      .poll(() => watched.standardError.text(), { timeout: patient(15_000) })
      .toMatch(/exporting: \d+ B, 2 of about 8 lines, \d/)
    finish?.()
    expect(await ended).toBe(0)
    expect(asked).toEqual([false, false, true])
    expect(watched.standardOutput.text()).toBe(lines.join(""))
  })
})

describe("a trace that is arriving", () => {
  test("in NDJSON is counted by its lines", () => {
    const check = checkTrace("ndjson")
    const counts = ndjson(4).map((line) => {
      check.add(Buffer.from(line))
      return check.counted()
    })
    // A possible last line is not counted until another one follows.
    expect(counts.map(({ number }) => number)).toEqual([0, 0, 1, 2, 3, 4])
  })

  test.each([0, 1, 15, 16, 70_000])("in SimKube's format is counted by its seconds, %i of them", (count) => {
    const map = (members: Readonly<Record<string, MessagePackValue>>): MessagePackValue =>
      new Map(Object.entries(members))
    const moment = map({ ts: 1, applied_objs: [[1], [[2], map({})]], deleted_objs: [] })
    const bytes = encodeMessagePack(
      map({
        version: 2,
        config: map({ trackedObjects: map({ "v1.Pod": map({ paths: [["a"], ["b"]] }) }) }),
        events: Array.from({ length: count }, () => moment),
        index: map({ "v1.Pod": map({ a: 1 }) }),
        pod_lifecycles: map({}),
      }),
    )
    const check = checkTrace("simkube")
    let before = 0
    const step = Math.max(1, Math.floor(bytes.length / 500))
    for (let at = 0; at < bytes.length; at += step) {
      expect(check.add(bytes.subarray(at, at + step))).toBeUndefined()
      const { number, of } = check.counted()
      expect(number).toBeGreaterThanOrEqual(before)
      if (number > 0) expect(of).toBe(count)
      before = number
    }
    expect(check.counted()).toEqual({ unit: "event", number: count, of: count })
    expect(check.finish()).toEqual({ _tag: "Whole", contents: undefined })
  })

  test("counts exactly what has begun to arrive", () => {
    const extent = new MessagePackExtent({ follow: 2 })
    // [6, [[8], 9, 10], [7]]
    const bytes = [0x93, 0x06, 0x93, 0x91, 0x08, 0x09, 0x0a, 0x91, 0x07]
    const begun = bytes.map((byte) => {
      extent.add(Uint8Array.of(byte))
      return extent.followed?.begun
    })
    expect(begun).toEqual([undefined, undefined, 0, 1, 1, 2, 3, 3, 3])
    expect([extent.followed?.length, extent.isWhole]).toEqual([3, true])
  })
})
