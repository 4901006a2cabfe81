/**
 * Part of scenario *export*: a client that reads 10 kB/s while 5,000 events a second arrive. Its export waits for it; nothing else may.
 * Above all the write-ahead log must not grow: during a long read transaction it grows with everything that is recorded (from 4 to 152 MB).
 */
import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { inRounds, type ScenarioReport, type ScenarioSettings } from "../scenario.ts"
import type { ExportMoments } from "./export-client-process.ts"
import { atMost, exportUnderLoad, type LoadedRun, loadMeasures, megabyte, perSecond } from "./export-load.ts"

const formats = ["ndjson", "simkube"] as const
const bytesPerSecond = 10_000
/** s for which the client reads. */
const readSeconds = { full: 25, quick: 4 } as const
/** ms between two samples of the log's size. */
const sampleMs = 50
const limitMs = 120_000

interface SlowAnswer extends ExportMoments {
  readonly endedMs: number
  readonly largestLog: number
  readonly bytes: number
}

type SlowRun = LoadedRun<SlowAnswer> & { readonly missing: number }

export const measureSlowReader = async (events: number, settings: ScenarioSettings): Promise<ScenarioReport> => {
  const { isQuick, tell } = settings
  const seconds = isQuick ? readSeconds.quick : readSeconds.full
  const runs = new Map(formats.map((format) => [format, [] as Array<SlowRun>]))
  const rounds = await inRounds(settings.rounds ?? 1, limitMs, async (round) => {
    for (const format of formats) {
      const run = await exportUnderLoad(
        { format, workload: {}, events, seconds: seconds + 1 },
        settings,
        async ({ client, subject }) => {
          using log = new LogWatch(subject.dataDirectory)
          const moments = await client.read(bytesPerSecond)
          await sleep(seconds * 1000)
          const { stoppedMs, bytes, isUnderWay } = await client.stop()
          if (!isUnderWay) throw new Error(`the trace ended after ${bytes} bytes: nobody was slow`)
          return { ...moments, endedMs: stoppedMs, largestLog: log.largest, bytes }
        },
        async (_client, _answer, { changes }) => ({ missing: missingNumbers(changes) }),
      )
      runs.get(format)?.push(run)
      const { before, during, answer, peakGrowth } = run
      tell(
        `round ${round}: ${format} at 10 kB/s for ${seconds} s: log ${(answer.largestLog / megabyte).toFixed(1)} MB, +${Math.round(peakGrowth / megabyte)} MB, ` +
          `p99 received ${before.receivedMs.toFixed(1)} → ${during.receivedMs.toFixed(1)} ms, committed ${before.committedMs.toFixed(1)} → ${during.committedMs.toFixed(1)} ms`,
      )
    }
  })
  return {
    measures: [...runs].flatMap(([format, ofFormat]) => {
      const name = `${format} read at 10 kB/s`
      return [
        {
          name: `${name}: largest write-ahead log`,
          unit: "MB",
          digits: 1,
          ours: ofFormat.map(({ answer }) => answer.largestLog / megabyte),
          must: atMost(64),
        },
        {
          name: `${name}: changes not recorded`,
          unit: "",
          digits: 0,
          ours: ofFormat.map(({ missing }) => missing),
          must: atMost(0),
        },
        ...loadMeasures(name, ofFormat),
      ]
    }),
    notes: [
      `Read at 10 kB/s: for ${seconds} s, while ${perSecond.toLocaleString("en")} events/s of 2.9 kB arrive, then the client goes; ${rounds} ${rounds === 1 ? "round" : "rounds"}. ` +
        "What the kernel and the client's Node take into their buffers, some MB, leaves the recorder at once.",
    ],
  }
}

/** Of the generator's changes up to the last recorded one, which is the last it sent. */
const missingNumbers = (changes: ReadonlyArray<{ readonly number: number }>): number => {
  const numbers = new Set(changes.flatMap(({ number }) => (number > 0 ? number : [])))
  return (changes.at(-1)?.number ?? 0) - numbers.size
}

/** The size of the recording's write-ahead log, until it is disposed of. */
class LogWatch implements Disposable {
  /** Bytes. */
  largest = 0
  readonly #timer: NodeJS.Timeout

  constructor(directory: string) {
    const file = readdirSync(directory).find((name) => name.endsWith("-wal"))
    if (file === undefined) throw new Error(`${directory} has no write-ahead log`)
    const look = (): void => {
      this.largest = Math.max(this.largest, statSync(join(directory, file)).size)
    }
    look()
    this.#timer = setInterval(look, sampleMs)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
