/**
 * A client of `POST /export` in its own process, so that it does not delay the measurements.
 *
 * node bench/exporting/export-client-process.ts SERVER simkube|ndjson
 *
 * Standard input takes lines: `{"export": true}` requests everything and reads it as fast as it arrives; `{"read": bytesPerSecond}`
 * requests everything and reads no faster than that; `{"stop": true}` ends the latter; `{"count": true}` counts what arrived, which takes a
 * second or more of a CPU. Each is followed by one line of output, {@link ExportAnswer}. Ends when standard input closes.
 */

import { createHash } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { setPriority } from "node:os"
import { createInterface } from "node:readline"
import { messageOf } from "../../src/message-of.ts"
import { countTrace, type TraceCount, type TraceFormat } from "./export-trace-count.ts"

// It stands for another machine, so it must not take CPU from the recorder on these two cores.
setPriority(10)

/** When an export was requested and when the head of its response arrived. */
export interface ExportMoments {
  /** Just before the request was written: ms on the clock that all processes share, µs since the Unix epoch. */
  readonly askedMs: number
  readonly askedMicros: number
  /** When the head of the response had arrived: the cut had been made. */
  readonly headMicros: number
}

/** A complete trace. */
export interface TakenExport extends ExportMoments {
  /** When the last byte arrived. */
  readonly endedMs: number
  readonly bytes: number
}

/** The part of a trace that was read until reading was stopped. */
export interface ReadExport {
  readonly stoppedMs: number
  /** Taken from the stream; the kernel and Node hold more. */
  readonly bytes: number
  /** Neither complete nor broken. */
  readonly isUnderWay: boolean
}

/** One of the fields for each line of standard input. */
export interface ExportAnswer {
  readonly taken?: TakenExport
  readonly reading?: ExportMoments
  readonly read?: ReadExport
  readonly counted?: TraceCount
}

/** Reads per second: 10 kB/s are read as 1,000 bytes at a time. */
const readsPerSecond = 10
/** Seconds by which the window's end is ahead of now: only the cut must end the window, and a recorder's clock may be ahead by as much. */
const aheadSeconds = 5

const [server = "", format = ""] = process.argv.slice(2)
if (format !== "simkube" && format !== "ndjson") throw new Error(`no format: ${format}`)
const traceFormat: TraceFormat = format

const say = (answer: ExportAnswer): void => {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

const sharedMs = (): number => Number(process.hrtime.bigint()) / 1e6

const ask = async (): Promise<{ readonly response: IncomingMessage; readonly moments: ExportMoments }> => {
  const now = Math.floor(Date.now() / 1000)
  const body = JSON.stringify({
    // The beginning of every recording, before which nothing is missing.
    start_ts: 0,
    end_ts: now + aheadSeconds,
    export_path: `trace.${traceFormat}`,
    filters: { excluded_namespaces: [], excluded_labels: [] },
    format: traceFormat,
    require: "all",
  })
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) }
  const askedMs = sharedMs()
  const askedMicros = Date.now() * 1000
  const posted = request(`${server}/export`, { method: "POST", headers, agent: false })
  posted.end(body)
  const [response] = (await once(posted, "response")) as [IncomingMessage]
  const moments = { askedMs, askedMicros, headMicros: Date.now() * 1000 }
  if (response.statusCode === 200) return { response, moments }
  throw new Error(`POST /export: ${response.statusCode}: ${Buffer.concat(await response.toArray()).toString()}`)
}

let pieces: Array<Buffer> = []
/** Of the trailer. */
let digest: string | undefined

const take = async (): Promise<void> => {
  const { response, moments } = await ask()
  let bytes = 0
  response.on("data", (piece: Buffer) => {
    pieces.push(piece)
    bytes += piece.length
  })
  await once(response, "end")
  digest = response.trailers["repr-digest"]
  say({ taken: { ...moments, endedMs: sharedMs(), bytes } })
}

const count = (): void => {
  const bytes = Buffer.concat(pieces)
  pieces = []
  const found = `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`
  if (digest !== found) throw new Error(`the trailer says ${digest}, and the body is ${found}`)
  say({ counted: countTrace(traceFormat, bytes) })
}

let stop: () => void = () => undefined

const readSlowly = async (bytesPerSecond: number): Promise<void> => {
  const { response, moments } = await ask()
  const size = Math.ceil(bytesPerSecond / readsPerSecond)
  let bytes = 0
  let isOver = false
  // With a listener Node fills its own buffer, of at most 64 kB, and takes nothing more from the kernel until it is read.
  response.on("readable", () => undefined)
  response.on("error", () => undefined)
  for (const end of ["end", "close"]) {
    response.on(end, () => {
      isOver = true
    })
  }
  const timer = setInterval(() => {
    bytes += (response.read(size) as Buffer | null)?.length ?? 0
  }, 1000 / readsPerSecond)
  stop = () => {
    clearInterval(timer)
    say({ read: { stoppedMs: sharedMs(), bytes, isUnderWay: !isOver } })
    response.destroy()
  }
  say({ reading: moments })
}

const orders = {
  export: take,
  read: readSlowly,
  stop: async () => stop(),
  count: async () => count(),
}

createInterface(process.stdin)
  .on("line", (line) => {
    const order = JSON.parse(line) as Readonly<Record<string, number>>
    for (const [name, value] of Object.entries(order)) {
      orders[name as keyof typeof orders](value).catch((cause: unknown) => {
        process.stderr.write(`export client: ${messageOf(cause)}\n`)
        process.exit(1)
      })
    }
  })
  .on("close", () => process.exit(0))
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
