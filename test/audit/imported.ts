/** Imports logs that are in memory, and reads the trace that comes out. */
import { Readable } from "node:stream"
import { importAudit } from "../../src/audit/import-audit.ts"
import type { AuditImport, ImportOutcome, ImportSummary } from "../../src/audit/import-order.ts"
import { memorySpool, openDecoder, type TraceItem } from "../../src/trace/index.ts"

export const testKey = Buffer.from("a key of more than 16 bytes")

/** Small ones, so that a log is not there as a whole. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += 1500) yield bytes.subarray(start, start + 1500)
}

export interface Ran {
  readonly outcome: ImportOutcome
  /** Everything that was written, if it was kept. */
  readonly bytes: Buffer
  readonly isDiscarded: boolean
}

export const ran = async (logs: ReadonlyArray<string | Uint8Array>, given: Partial<AuditImport> = {}): Promise<Ran> => {
  const pieces: Buffer[] = []
  let isDiscarded = false
  const outcome = await importAudit({
    logs: logs.map((_, index) => `log-${index}`),
    openInput: async (name) => {
      const bytes = Buffer.from(logs[Number(name.slice(4))] as string)
      return { bytes: Readable.from(chunksOf(bytes), { objectMode: false }), size: bytes.length }
    },
    isExcluded: () => false,
    redactionKey: testKey,
    secretsInPlainText: false,
    format: "ndjson",
    compression: "none",
    openSink: async () => ({
      isDirect: false,
      write: async (bytes) => void pieces.push(Buffer.from(bytes)),
      commit: async () => undefined,
      discard: async () => {
        isDiscarded = true
      },
    }),
    openSpool: memorySpool,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...given,
  })
  return { outcome, bytes: Buffer.concat(pieces), isDiscarded }
}

export interface Imported {
  readonly summary: ImportSummary
  readonly items: ReadonlyArray<TraceItem>
  readonly bytes: Buffer
}

/** The trace; throws if there is none. */
export const imported = async (
  logs: ReadonlyArray<string | Uint8Array>,
  given: Partial<AuditImport> = {},
): Promise<Imported> => {
  const { outcome, bytes } = await ran(logs, given)
  if (outcome.tag === "failed") throw outcome.error
  const decoder = await openDecoder(given.format ?? "ndjson")
  const items = [...decoder.push(bytes), ...decoder.end()]
  return { summary: outcome.summary, items, bytes }
}
