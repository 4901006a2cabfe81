/**
 * Part of scenario *export*: a window of 100,000 events of a recording that is not being written to, in either format, from the first call
 * to the last byte (docs/reference/architecture.md#budgets).
 *
 * 1,000 Deployments are changed one after another. Each export runs in its own process, whose exporter has just started: no code is warm. Memory is the growth of the process at its peak; MB are 10^6 bytes.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { ArchiveWriter } from "../../src/archive/index.ts"
import { FrameEvent, ObservationsBuilder } from "../../src/wire/index.ts"
import { deployments, gvkOf } from "../load/bench-kinds.ts"
import { objectText } from "../load/bench-objects.ts"
import { firstVersion, ObjectTemplate } from "../load/object-template.ts"
import type { Bound, Measure } from "../report/table.ts"
import { inRounds, type ScenarioReport, type ScenarioSettings } from "../scenario.ts"
import type { ExportCost } from "./export-process.ts"

const gvk = gvkOf(deployments)
const objects = 1000
/** Number of objects that differ in more than their numbers. */
const variety = 20
const frameBytes = 256 * 1024
const megabyte = 1e6

/** The budget is for events of 1.1 kB. */
const sizes = [
  { name: "1.1 kB", text: (number: number) => withoutStatus(objectText(deployments, number)), isBudgeted: true },
  { name: "2.9 kB", text: (number: number) => objectText(deployments, number), isBudgeted: false },
] as const

const formats = ["ndjson", "simkube"] as const

export const measureRecorded = async (events: number, settings: ScenarioSettings): Promise<ScenarioReport> => {
  const rounds = settings.rounds ?? (settings.isQuick ? 1 : 5)
  const reports: Array<ScenarioReport> = []
  for (const size of sizes) reports.push(await exportSize(size, events, rounds, settings))
  return {
    measures: reports.flatMap(({ measures }) => measures),
    notes: [
      `The exporter alone: ${events.toLocaleString("en")} events each.`,
      ...reports.flatMap(({ notes }) => notes),
    ],
  }
}

/** A smaller object of the same kind: no status, no managedFields, no annotations, of the pod only its container. */
const withoutStatus = (text: string): string => {
  const { kind, apiVersion, metadata, spec } = JSON.parse(text) as Record<string, Record<string, unknown>>
  const { managedFields: _, annotations: __, ...kept } = metadata ?? {}
  const { template, ...rest } = spec ?? {}
  const { spec: pod, ...more } = template as Record<string, Record<string, unknown>>
  const small = { ...more, spec: { containers: pod?.containers } }
  return JSON.stringify({ kind, apiVersion, metadata: kept, spec: { ...rest, template: small } })
}

/** Writes a recording; returns the size of an object in bytes. */
const record = (directory: string, events: number, textOf: (number: number) => string): number => {
  const templates = Array.from({ length: variety }, (_, number) => new ObjectTemplate(textOf(number)))
  const writer = ArchiveWriter.open(directory)
  const builder = new ObservationsBuilder(gvk)
  const memory = Buffer.alloc(frameBytes)
  const object = Buffer.alloc(8192)
  const event = new FrameEvent()
  event.bytes = object
  let frames = 0
  let length = 0
  const send = (): void => {
    writer.append("watcher", 1, ++frames, memory.subarray(0, builder.finish()))
    if (writer.pendingBytes >= 1024 * 1024) writer.commit()
    builder.begin(memory, 0)
  }
  builder.begin(memory, 0)
  for (let index = 0; index < events; index++) {
    const number = 1 + (index % objects)
    const version = firstVersion + index
    length = (templates[index % variety] as ObjectTemplate).copyTo(object, 0, number, version)
    const fingerprint = Math.imul(index + 1, 2654435761) >>> 0
    event.objectNumber = number
    event.timeMicros = 1_763_700_000_000_000 + index * 20
    event.version = version
    event.fingerprintLow = fingerprint
    event.fingerprintHigh = ~fingerprint >>> 0
    event.end = length
    const write = (): boolean =>
      (index >= objects ||
        builder.addObject({ number, uid: `u-${number}`, namespace: "bench", name: `web-${number}` })) &&
      builder.append(event)
    if (write()) continue
    send()
    if (!write()) throw new Error("an object is larger than a frame")
  }
  send()
  writer.commit()
  writer.close()
  return length
}

const run = promisify(execFile)
const script = fileURLToPath(new URL("export-process.ts", import.meta.url))

const exportSize = async (
  { name, text, isBudgeted }: (typeof sizes)[number],
  events: number,
  rounds: number,
  { tell }: ScenarioSettings,
): Promise<ScenarioReport> => {
  const directory = mkdtempSync(join(tmpdir(), "bench-export-"))
  try {
    const objectBytes = record(directory, events, text)
    const costs = { ndjson: [] as Array<ExportCost>, simkube: [] as Array<ExportCost> }
    const done = await inRounds(rounds, 120_000, async () => {
      for (const format of formats) {
        const { stdout } = await run(process.execPath, [script, directory, format, gvk])
        const cost = JSON.parse(stdout) as ExportCost
        costs[format].push(cost)
        const grown = Math.round((cost.peakBytes - cost.beforeBytes) / megabyte)
        tell(`${name} as ${format}: ${Math.round(cost.wallMs)} ms, ${Math.round(cost.cpuMs)} ms CPU, +${grown} MB`)
      }
    })
    const traceBytes = (format: (typeof formats)[number]): string =>
      `${Math.round((costs[format][0]?.bytes ?? 0) / megabyte)} MB as ${format}`
    const note = `${name}: objects of ${objectBytes} bytes, ${formats.map(traceBytes).join(", ")}; ${done} ${done === 1 ? "round" : "rounds"}.`
    return {
      measures: formats.flatMap((format) => measuresOf(`${name} as ${format}`, costs[format], isBudgeted)),
      notes: [note],
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const atMost = (value: number): Bound => ({ relation: "at most", value })

const measuresOf = (name: string, costs: ReadonlyArray<ExportCost>, isBudgeted: boolean): ReadonlyArray<Measure> => [
  {
    name: `${name}: time`,
    unit: "s",
    digits: 2,
    ours: costs.map(({ wallMs }) => wallMs / 1000),
    ...(isBudgeted && { must: atMost(2), aim: atMost(1.2) }),
  },
  { name: `${name}: CPU`, unit: "s", digits: 2, ours: costs.map(({ cpuMs }) => cpuMs / 1000) },
  {
    name: `${name}: memory, growth at its peak`,
    unit: "MB",
    digits: 0,
    ours: costs.map(({ beforeBytes, peakBytes }) => (peakBytes - beforeBytes) / megabyte),
    ...(isBudgeted && { must: atMost(64) }),
  },
]
