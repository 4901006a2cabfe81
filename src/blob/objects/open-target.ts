/**
 * An object store as the destination of an export. Opening contacts the store, so that a missing or forbidden bucket fails before anything
 * is encoded. Whether the caller may write there is decided elsewhere: see allow-list.ts.
 */
import * as Effect from "effect/Effect"
import { type Clock, systemClock } from "../../clock.ts"
import type { StoreAddress } from "../addresses/target-address.ts"
import { openAzure } from "../providers/azure.ts"
import { openGcs } from "../providers/gcs.ts"
import type { PartSink, Surroundings } from "../providers/provider.ts"
import { openS3 } from "../providers/s3.ts"
import { repeated, within } from "../requests/requests.ts"
import { type TargetError, targetErrorOf } from "../requests/target-error.ts"
import { type ExportTarget, PartWriter, targetDeadlines } from "./part-writer.ts"

export interface OpenTargetOptions extends Surroundings {
  /** Stored with the object. Default `application/octet-stream`. */
  readonly contentType?: string
}

const openers = { s3: openS3, gs: openGcs, azure: openAzure }

/** ms for which a request is sent again: who exports wants to know soon that an address is wrong, and not to lose a long upload for a broken connection. */
const openingPatienceMs = 5000
const patienceMs = 20_000

/**
 * Opens an object for writing, within `openMs` of {@link targetDeadlines}. If that fails or is interrupted, nothing is left in the store, even if the store
 * responds later. The target must be finished or aborted.
 */
export const openTarget = (
  address: StoreAddress,
  options: OpenTargetOptions = {},
): Effect.Effect<ExportTarget, TargetError> => {
  const { contentType = "application/octet-stream", clock = systemClock } = options
  return Effect.tryPromise({
    try: async (stop) => {
      let opening: Promise<PartSink> | undefined
      try {
        const sink = await within(clock, "the store's response", targetDeadlines.openMs, stop, (signal) => {
          opening = begin(address, contentType, { ...options, clock }, signal)
          return opening
        })
        return new PartWriter(address, sink, clock)
      } catch (cause) {
        // It may still start an upload after the caller has gone, which is then discarded.
        void opening?.then(
          (sink) => discardLate(sink, clock),
          () => undefined,
        )
        throw cause
      }
    },
    catch: (cause) => targetErrorOf(address, cause),
  })
}

/** Begins an upload whose requests are sent again. `stop` ends that for the first one. */
const begin = async (
  address: StoreAddress,
  contentType: string,
  surroundings: Surroundings & { readonly clock: Clock },
  stop: AbortSignal,
): Promise<PartSink> => {
  const provider = await openers[address.provider](address, surroundings)
  const patience = { clock: surroundings.clock, random: Math.random, patienceMs }
  try {
    const sink = await repeated({ ...patience, patienceMs: openingPatienceMs }, stop, () =>
      provider.upload(address.key, contentType),
    )
    return {
      ...sink,
      put: (part, signal) => repeated(patience, signal, () => sink.put(part, signal)),
      commit: (signal) => repeated(patience, signal, () => sink.commit(signal)),
      discard: (signal) => repeated(patience, signal, () => sink.discard(signal)),
      close: () => provider.close?.(),
    }
  } catch (cause) {
    provider.close?.()
    throw cause
  }
}

/** An upload without parts costs nothing and no caller is left to report to, so a failure is left for the store to clean up. */
const discardLate = async (sink: PartSink, clock: Clock): Promise<void> => {
  await within(clock, "removing the upload", targetDeadlines.discardMs, undefined, (each) => sink.discard(each)).then(
    () => sink.close?.(),
    () => sink.close?.(),
  )
}
