/**
 * An object store as the destination of an export. Opening contacts the store, so that a missing or forbidden bucket fails before anything
 * is encoded. Whether the caller may write there is decided elsewhere: see allow-list.ts.
 */
import * as Effect from "effect/Effect"
import { type Clock, systemClock } from "../clock.ts"
import { openAzure } from "./azure-target.ts"
import { openGcs } from "./gcs-target.ts"
import {
  type ExportTarget,
  type PartSink,
  PartWriter,
  type TargetDeadlines,
  targetDeadlines,
  within,
} from "./part-writer.ts"
import { openS3 } from "./s3-target.ts"
import type { StoreAddress } from "./target-address.ts"
import { type ImportPackage, importPackage, type TargetError, targetErrorOf } from "./target-error.ts"

export interface OpenTargetOptions {
  /** Stored with the object. Default `application/octet-stream`. */
  readonly contentType?: string
  readonly clock?: Clock
  readonly deadlines?: TargetDeadlines
  /** Read by this module; the SDKs read the environment of the process. Default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv
  readonly importing?: ImportPackage
}

const openers = { s3: openS3, gs: openGcs, azure: openAzure }

/**
 * Opens an object for writing, within `deadlines.openMs`. If that fails or is interrupted, nothing is left in the store, even if the store
 * responds later. The target must be finished or aborted.
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
        const sink = await within(clock, "the store's response", deadlines.openMs, stop, () => opening)
        return new PartWriter(address, sink, clock, deadlines)
      } catch (cause) {
        // It may still start an upload after the caller has gone, which is then discarded.
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

/** An upload without parts costs nothing and no caller is left to report to, so a failure is left for the store to clean up. */
const discardLate = async (sink: PartSink, clock: Clock, deadlines: TargetDeadlines): Promise<void> => {
  const { signal } = new AbortController()
  await within(clock, "removing the upload", deadlines.discardMs, signal, (each) => sink.discard(each)).then(
    () => sink.close(),
    () => sink.close(),
  )
}
