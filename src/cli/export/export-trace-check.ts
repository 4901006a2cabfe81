/**
 * Checks from the received bytes alone whether an export is complete, because a proxy may have removed the checksum trailer.
 * Compressed traces are also decompressed for this check, in libuv's threads (zstd takes about 0.1 s for 100 MB of NDJSON), and
 * the result is discarded.
 *
 * Guarantee: a truncated trace is never accepted as complete, compressed or not; memory stays at what a codec needs, about 2 MiB.
 */
import { createGunzip, createZstdDecompress } from "node:zlib"
import type { Compression } from "../../trace/formats/compression-names.ts"
import type { TraceFormatName } from "../../trace/formats/names.ts"
import { checkTrace, type TraceCheck, type TraceCount, type TraceVerdict } from "./trace-check.ts"

/** bytes per chunk of decompressed output: 115 MB took 0.35 s with the codec's default of 16 KiB, and 0.12 s with this. */
const chunkSize = 256 * 1024

/** An asynchronous {@link TraceCheck}. */
export interface ExportCheck extends Disposable {
  readonly counted: () => TraceCount
  readonly add: (bytes: Uint8Array) => Promise<string | undefined>
  readonly finish: () => Promise<TraceVerdict>
}

/** `undefined` for a format whose end cannot be recognised. */
export const checkExport = (format: TraceFormatName, compression: Compression): ExportCheck | undefined => {
  if (format === "kwok") return undefined
  const check = checkTrace(format)
  return compression === "none" ? plain(check) : unpacked(check, compression)
}

const plain = ({ counted, add, finish }: TraceCheck): ExportCheck => ({
  counted,
  add: async (bytes) => add(bytes),
  finish: async () => finish(),
  [Symbol.dispose]: () => undefined,
})

const unpacked = ({ counted, add, finish }: TraceCheck, compression: "zstd" | "gzip"): ExportCheck => {
  const codec = compression === "zstd" ? createZstdDecompress({ chunkSize }) : createGunzip({ chunkSize })
  let fault: string | undefined
  let isOver = false
  let wake: (() => void) | undefined
  codec.on("data", (bytes: Buffer) => {
    fault ??= add(bytes)
  })
  codec.on("error", (cause) => {
    fault ??= `its compressed bytes are damaged: ${cause.message}`
  })
  codec.on("drain", () => wake?.())
  // The last event, whether the codec ended or failed.
  codec.on("close", () => {
    isOver = true
    wake?.()
  })
  const woken = async (): Promise<void> => {
    if (isOver) return
    await new Promise<void>((resolve) => {
      wake = resolve
    })
    wake = undefined
  }
  return {
    counted,
    add: async (bytes) => {
      if (!isOver && !codec.write(bytes)) await woken()
      return fault
    },
    finish: async () => {
      codec.end()
      while (!isOver) await woken()
      return fault === undefined ? finish() : { _tag: "Cut", reason: fault }
    },
    [Symbol.dispose]: () => codec.destroy(),
  }
}
