/**
 * Exports a recording once, as the recorder does it: an exporter in its worker, a reader in the main thread that takes everything at once.
 * Prints the resources used as one line of JSON.
 *
 * node bench/exporting/export-process.ts DIRECTORY simkube|ndjson GVK
 *
 * Memory is the whole process's; its peak is read from the kernel, so that nothing between two samples is missed.
 */
import { readFileSync, writeFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import { exporterDefinition, exporterName } from "../../src/actors/index.ts"
import { ArchiveReader } from "../../src/archive/index.ts"
import { ExportService } from "../../src/recorder/index.ts"
import { memoryLimits } from "../../src/recorder/memory/memory-shares.ts"
import { workerEntry } from "../../src/recorder/recording/worker-entries.ts"
import { ActorSystem, defaultRestartPolicy, workerThread } from "../../src/runtime/index.ts"

/** The cost of one export. */
export interface ExportCost {
  readonly wallMs: number
  /** User and system time of all threads. */
  readonly cpuMs: number
  /** Resident memory before, and the maximum during the export. */
  readonly beforeBytes: number
  readonly peakBytes: number
  /** Of the trace. */
  readonly bytes: number
}

const [directory = "", format = "", gvk = ""] = process.argv.slice(2)
if (format !== "simkube" && format !== "ndjson") throw new Error(`no format: ${format}`)

/** kB figures of /proc/self/status. */
const residentBytes = (field: "VmRSS" | "VmHWM"): number =>
  1024 * Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"))?.[1])

const reader = ArchiveReader.open(directory)
const cut = reader.cut()
reader.close()

const system = new ActorSystem()
const exporter = system.spawn({
  definition: exporterDefinition,
  name: exporterName,
  start: workerThread(workerEntry("exporter"), memoryLimits.exporter),
  config: () => ({ directory }),
  incarnation: () => 1,
  restart: defaultRestartPolicy,
})
const service = new ExportService(system, () => exporter)
await Effect.runPromise(exporter.running())

const exportOnce = async (): Promise<ExportCost> => {
  writeFileSync("/proc/self/clear_refs", "5")
  const beforeBytes = residentBytes("VmRSS")
  const cpu = process.cpuUsage()
  const start = performance.now()
  let bytes = 0
  await new Promise<void>((resolve, reject) => {
    const job = {
      format,
      cut,
      fromTime: 0,
      untilTime: Number.MAX_SAFE_INTEGER,
      filters: { excluded_namespaces: [], excluded_labels: [] },
      skipOwned: [],
      excludeOwned: true,
      excludeDaemonSetOwned: true,
      recordedKinds: [],
      trackedObjects: { [gvk]: {} },
      incomplete: [],
    } as const
    const started = service.start(job, {
      piece: async (data) => {
        bytes += data.length
      },
      end: (error) => (error === undefined ? resolve() : reject(new Error(error))),
    })
    Effect.runPromise(started).catch(reject)
  })
  const { user, system: kernel } = process.cpuUsage(cpu)
  const wallMs = performance.now() - start
  return { wallMs, cpuMs: (user + kernel) / 1000, beforeBytes, peakBytes: residentBytes("VmHWM"), bytes }
}

console.log(JSON.stringify(await exportOnce()))
await system.stop()
process.exit(0)
