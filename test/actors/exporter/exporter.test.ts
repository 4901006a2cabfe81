import { createHash } from "node:crypto"
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { exporterBody } from "../../../src/actors/exporter/exporter-body.ts"
import {
  type ExportJob,
  exporterDefinition,
  exportWindowBytes,
} from "../../../src/actors/exporter/exporter-interface.ts"
import { openExport } from "../../../src/actors/exporter/open-export.ts"
import { exporterName } from "../../../src/actors/names.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { systemClock } from "../../../src/clock.ts"
import { type ExportReader, ExportService, type RunningExport } from "../../../src/recorder/index.ts"
import { ActorSystem, defaultRestartPolicy, localThread } from "../../../src/runtime/index.ts"
import { decompressed, openDecoder, SimkubeTraceReader } from "../../../src/trace/index.ts"
import { ObservationsBuilder } from "../../../src/wire/index.ts"
import { patient } from "../../harness/patience.ts"
import { turn, until } from "../../runtime/until.ts"
import { frameEvent } from "../../wire/frame-events.ts"
import { exportJob } from "./export-job.ts"

/** What users run. */
const transformer = new URL("../../../dist/workers/transform.js", import.meta.url)
const gvk = "apps/v1.Deployment"
const events = 450

const jobOf = (format: ExportJob["format"], more: Partial<ExportJob> = {}): ExportJob =>
  exportJob([gvk], { format, cut: events, excludeOwned: true, excludeDaemonSetOwned: true, ...more })

let directory = ""

/** 9 MB: more than waits anywhere. */
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "kubereel-exporter-"))
  const writer = ArchiveWriter.open(directory)
  const builder = new ObservationsBuilder(gvk)
  const memory = Buffer.alloc(128 * 1024)
  for (let index = 0; index < events; index++) {
    const number = 1 + (index % 10)
    const name = `web-${number}`
    const metadata = {
      name,
      namespace: "shop",
      labels: { parity: number % 2 === 0 ? "even" : "odd" },
      managedFields: [{ manager: "test", fieldsV1: { "f:data": {} } }],
      ...(number === 3 && {
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "web" }],
      }),
    }
    const blob = createHash("shake256", { outputLength: 10_000 }).update(String(index)).digest("hex")
    const object = Buffer.from(JSON.stringify({ metadata, data: { blob }, spec: { index } }))
    builder.begin(memory, 0)
    if (index < 10) builder.addObject({ number, uid: `uid-${number}`, namespace: "shop", name })
    const timeMicros = 1_763_700_000_000_000 + index * 20_000
    const event = { objectNumber: number, timeMicros, version: index + 1, fingerprintLow: index, bytes: object }
    if (!builder.append(frameEvent(event))) throw new Error("the frame is too small")
    writer.append("watcher", 1, index + 1, memory.subarray(0, builder.finish()))
    if (writer.pendingBytes >= 1024 * 1024) writer.commit()
  }
  writer.commit()
  writer.close()
})
afterAll(() => rmSync(directory, { recursive: true }))

const start = async () => {
  const system = new ActorSystem()
  const exporter = system.spawn({
    definition: exporterDefinition,
    name: exporterName,
    start: localThread(exporterDefinition, exporterBody(transformer), systemClock),
    config: () => ({ directory }),
    incarnation: () => 1,
    restart: defaultRestartPolicy,
  })
  const service = new ExportService(system, () => exporter)
  await Effect.runPromise(exporter.running())
  return {
    begin: (job: ExportJob, reader: ExportReader): Promise<RunningExport> =>
      Effect.runPromise(service.start(job, reader)),
    [Symbol.asyncDispose]: async () => void (await system.stop()),
  }
}

/** A reader that keeps everything, as fast as it comes. */
const collecting = () => {
  const pieces: Array<Uint8Array> = []
  let end = (_error: string | undefined): void => undefined
  const ended = new Promise<string | undefined>((resolve) => {
    end = resolve
  })
  const reader: ExportReader = {
    piece: async (data) => {
      pieces.push(Uint8Array.from(data))
    },
    end: (error) => end(error),
  }
  const whole = async (): Promise<Buffer> => {
    expect(await ended).toBeUndefined()
    return Buffer.concat(pieces)
  }
  return { reader, whole, ended }
}

const inOneGo = async (job: ExportJob): Promise<Buffer> => {
  const pieces: Array<Uint8Array> = []
  for await (const piece of openExport({ directory }, job).pieces) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Files of the recording, and spools, that this process has open. */
const openFiles = (): number =>
  readdirSync("/proc/self/fd").filter((file) => {
    const link = join("/proc/self/fd", file)
    return existsSync(link) && readlinkSync(link).startsWith(directory)
  }).length

describe("the exporter", { timeout: patient(60_000) }, () => {
  test.each([
    ["simkube", {}],
    [
      "simkube",
      {
        fromTime: 1_763_700_004_000_000,
        skipOwned: [gvk],
        filters: { excluded_namespaces: [], excluded_labels: [{ matchLabels: { parity: "even" } }] },
      },
    ],
    ["ndjson", {}],
    ["ndjson", { compression: "gzip" }],
    ["kwok", { compression: "zstd" }],
  ] as const)(
    "sends the %s trace that is made in one go, also of several exports at once: %j",
    async (format, more) => {
      await using exporter = await start()
      const job = jobOf(format, more)
      const expected = await inOneGo(job)
      expect(expected.length).toBeGreaterThan(1024 * 1024)
      const readers = [collecting(), collecting()]
      for (const { reader } of readers) await exporter.begin(job, reader)
      for (const { whole } of readers) expect((await whole()).equals(expected)).toBe(true)
    },
  )

  test.each([
    ["before the recording ends: there", 1_763_700_005_500_000, 1_763_700_006],
    ["after it: where the recording ends", Number.MAX_SAFE_INTEGER, 1_763_700_009],
  ])("W-34: keeps the quiet at the end of a window that ends %s", async (_, untilTime, end) => {
    const reader = new SimkubeTraceReader()
    const trace = await inOneGo(jobOf("simkube", { untilTime }))
    const items = [...reader.push(trace), ...reader.end()]
    const last = items.findLastIndex(({ type }) => type === "event")
    expect(items[last]).toEqual({ type: "event", seconds: end })
    expect(items[last + 1]?.type).not.toBe("applied")
  })

  test.each(["zstd", "gzip"] as const)("compresses every format with %s while streaming", async (compression) => {
    for (const format of ["ndjson", "simkube", "kwok"] as const) {
      const small = { untilTime: 1_763_700_001_000_000 }
      const plain = await inOneGo(jobOf(format, small))
      const packed = await inOneGo(jobOf(format, { ...small, compression }))
      const unpacked: Array<Uint8Array> = []
      for await (const piece of decompressed(Readable.from([packed]))) unpacked.push(piece)
      expect(Buffer.concat(unpacked).equals(plain)).toBe(true)
      expect(packed.length).toBeLessThan(plain.length)
    }
  })

  test("writes what the kwok decoder reads: the objects of the start, then a patch for each change", async () => {
    const window = { fromTime: 1_763_700_004_000_000, untilTime: 1_763_700_004_100_000 }
    const decoder = await openDecoder("kwok")
    const trace = await inOneGo(jobOf("kwok", window))
    const items = [...decoder.push(trace), ...decoder.end()]
    const events = items.flatMap((item) => (item.type === "event" && item.event.type === "object" ? [item] : []))
    expect(events.filter(({ isSnapshot }) => isSnapshot).map(({ event }) => event.type)).toHaveLength(10)
    expect(events.filter(({ isSnapshot }) => !isSnapshot)).toHaveLength(5)
    expect(items[0]).toMatchObject({ type: "header", sanitised: "replay" })
  })

  test("excludes owned objects and excluded labels, and nothing else", async () => {
    const trace = await inOneGo(
      jobOf("ndjson", {
        skipOwned: [gvk],
        filters: { excluded_namespaces: [], excluded_labels: [{ matchLabels: { parity: "even" } }] },
      }),
    )
    const names = trace
      .toString()
      .trimEnd()
      .split("\n")
      .slice(1, -1)
      .map((line) => (JSON.parse(line) as { name: string }).name)
    expect([...new Set(names)].sort()).toEqual(["web-1", "web-5", "web-7", "web-9"])
    expect(names.length).toBe((4 * events) / 10)
  })

  test("stops producing pieces for a reader that takes none, while others get theirs", async () => {
    await using exporter = await start()
    let offered = 0
    const stuck: ExportReader = {
      piece: async (data) => {
        offered += data.length
        await new Promise(() => undefined)
      },
      end: () => undefined,
    }
    const { cancel } = await exporter.begin(jobOf("ndjson"), stuck)
    const other = collecting()
    await exporter.begin(jobOf("simkube"), other.reader)
    expect((await other.whole()).length).toBeGreaterThan(exportWindowBytes)
    expect(offered).toBeLessThanOrEqual(exportWindowBytes + 128 * 1024)
    cancel()
  })

  test("closes everything that a cancelled export had open, at every stage", async () => {
    const before = openFiles()
    await using exporter = await start()
    for (const turns of [0, 1, 5, 30, 60]) {
      const { reader } = collecting()
      const { cancel } = await exporter.begin(jobOf("simkube"), reader)
      for (let done = 0; done < turns; done++) await turn()
      cancel()
    }
    await until(() => openFiles() === before)
    const last = collecting()
    await exporter.begin(jobOf("simkube"), last.reader)
    expect((await last.whole()).length).toBeGreaterThan(0)
  })

  test("ends running exports with a reason when it stops", async () => {
    const before = openFiles()
    const { reader, ended } = collecting()
    {
      await using exporter = await start()
      await exporter.begin(jobOf("simkube"), reader)
      for (let done = 0; done < 20; done++) await turn()
    }
    expect(await ended).toBe("the recorder is stopping")
    expect(openFiles()).toBe(before)
  })
})
