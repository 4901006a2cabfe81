/** Full reports in an object store. */
import * as Effect from "effect/Effect"
import { openTarget } from "../../blob/open-target.ts"
import type { ExportTarget } from "../../blob/part-writer.ts"
import { readTargetPath } from "../../blob/target-address.ts"
import { TargetError } from "../../blob/target-error.ts"
import { DriverFailure } from "../../simulation/driver/driver-failure.ts"
import type { ReportStore } from "../../simulation/driver/driver-setting.ts"
import { type PatienceOptions, withPatience } from "./patience.ts"

/** A store that is away for a moment is asked again. */
export const reportStore = (patience: PatienceOptions): ReportStore => ({
  check: (url, signal) =>
    patiently(patience, signal, async () => {
      const target = await open(url, signal)
      await target.abort("it was only tried whether the report can be written")
    }),
  write: (url, json) =>
    patiently(patience, never, async () => {
      const target = await open(url, never)
      try {
        await target.write(Buffer.from(json))
        await target.finish()
      } catch (error) {
        await target.abort("the report could not be written")
        throw error
      }
    }),
})

/** The last request of a repetition, which must not be lost because the pod is told to end. */
const never = new AbortController().signal

const patiently = async (patience: PatienceOptions, signal: AbortSignal, work: () => Promise<void>): Promise<void> => {
  try {
    await withPatience(patience, signal, isMomentary, work)
  } catch (error) {
    if (!(error instanceof TargetError)) throw error
    throw new DriverFailure({ problem: `${error.message}; spec.report.url names where reports go` })
  }
}

const isMomentary = (error: unknown): boolean =>
  error instanceof TargetError && (error.code === "unreachable" || error.code === "deadline")

const open = (url: string, signal: AbortSignal): Promise<ExportTarget> => {
  const place = readTargetPath(url)
  if (place.tag !== "store") {
    const reason = place.tag === "refused" ? place.reason : "it is not in an object store"
    throw new DriverFailure({ problem: `no report can be written to ${url}: ${reason}; correct spec.report.url` })
  }
  return Effect.runPromise(openTarget(place.address, { contentType: "application/json" }), { signal })
}
