/**
 * An object store as the end of an export. Opening asks the store, so that a bucket that is not there, or is not ours, fails before
 * anything is encoded. Whether the caller may write there is not asked here; see allow-list.ts.
 */
import * as Effect from "effect/Effect"
import { type Clock, systemClock } from "../clock.ts"
import { openAzure } from "./azure-target.ts"
import { within } from "./deadline.ts"
import { openGcs } from "./gcs-target.ts"
import { type ImportPackage, importPackage } from "./optional-package.ts"
import { type ExportTarget, type PartSink, PartWriter, type TargetDeadlines, targetDeadlines } from "./part-writer.ts"
import { openS3 } from "./s3-target.ts"
import type { StoreAddress } from "./target-address.ts"
import { type TargetError, targetErrorOf } from "./target-error.ts"

export interface OpenTargetOptions {
  /** Stored with the object. Default `application/octet-stream`. */
  readonly contentType?: string
  readonly clock?: Clock
  readonly deadlines?: TargetDeadlines
  /** Ours to read; the SDKs read the process's own. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
}

const openers = { s3: openS3, gs: openGcs, azure: openAzure }

/**
 * Opens an object for writing, within `deadlines.openMs`. When it fails or is interrupted nothing is left in the store, also if
 * the store answers later. What it gives must be finished or aborted.
 */
export const openTarget = (
  address: StoreAddress,
  options: OpenTargetOptions = {},
): Effect.Effect<ExportTarget, TargetError> => {
  const { contentType = "application/octet-stream", environment = process.env, importing = importPackage } = options
  const { clock = systemClock, deadlines = targetDeadlines } = options
  return Effect.tryPromise({
    try: async (stop) => {
      const opening = openers[address.provider](address, contentType, environment, importing)
      try {
        const sink = await within(clock, "the store's answer", deadlines.openMs, stop, () => opening)
        return new PartWriter(address, sink, clock, deadlines)
      } catch (cause) {
        // It may yet begin what nobody waits for any more.
        void opening.then(
          (sink) => discardLate(sink, clock, deadlines),
          () => undefined,
        )
        throw cause
      }
    },
    catch: (cause) => targetErrorOf(address, cause),
  })
}

/** An upload without parts costs nothing, and nobody is left to tell: a failure is the store's to clean up. */
const discardLate = async (sink: PartSink, clock: Clock, deadlines: TargetDeadlines): Promise<void> => {
  const { signal } = new AbortController()
  await within(clock, "removing the upload", deadlines.discardMs, signal, (each) => sink.discard(each)).then(
    () => sink.close(),
    () => sink.close(),
  )
}
