/**
 * Computes what an export would contain, without exporting: the response to `dry_run`.
 *
 * The counts equal those of the export, except that label and owner filters are not applied: for those every object must be read, which
 * takes as long as the export itself. The response names the filters of the request that were not applied.
 */
import * as Effect from "effect/Effect"
import { incompleteKinds, type Settled } from "../../actors/index.ts"
import { compileFilters, encodeTrackedObjects, podLivesKind, readTrackedObjects } from "../../trace/index.ts"
import type { RecorderConfiguration } from "../configuration/tracked-kind.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { askCoverage, type Coverage, type KindCoverage } from "./coverage.ts"
import { type Across, acrossOf, type LateFacts } from "./late-changes.ts"
import { type ExportRequest, filtersOf, ownerDeadlineMs, wantsKind, windowOf } from "./request.ts"
import {
  asksOwners,
  clockOf,
  type ExportContext,
  listingRefusal,
  missingOf,
  needsOwners,
  podStreamsOf,
  requestedStatuses,
  trackedObjects,
} from "./start.ts"
import { describePart, futureOf, notBegun, requestedKinds, untrackedKinds } from "./window-coverage.ts"

/** What an export would contain of one kind. */
interface KindForecast extends KindCoverage {
  /** Changes in the window that the export would contain. */
  readonly events: number
  /** Objects that exist at the start of the window, which an export begins with. */
  readonly objects: number
  readonly late: ReadonlyArray<
    KindCoverage["late"][number] & {
      /** The ends of the window across which these changes may belong; absent: all of them happened in it. */
      readonly across: Across | undefined
    }
  >
}

/** What one export request would return. */
export interface ExportForecast extends Coverage {
  readonly kinds: ReadonlyArray<KindForecast>
  /** Filters of the request that the counts ignore; empty: the counts equal those of the export. */
  readonly countedBefore: ReadonlyArray<"label filters" | "owner filters">
  readonly format: string
  /** Kinds, or namespaces of kinds, that would be incomplete in the trace for reasons other than gaps, as in the header of the export. */
  readonly incomplete: ReadonlyArray<string>
  /** The part of the window that is still to come, as in the header of the export; empty if it has ended. */
  readonly future: string
  /** Recorded kinds that the format cannot represent. */
  readonly leftOut: ReadonlyArray<string>
  readonly unknownOwners: { readonly count: number; readonly first: ReadonlyArray<string> }
  /** Why the request would be rejected now; empty if it would be accepted. */
  readonly refusals: ReadonlyArray<string>
}

/** Forecasts the export of a request with `dry_run`. Waits for owners as the export would. */
export const forecastExport = (
  { recording, configuration, nowMicros }: ExportContext,
  request: ExportRequest,
): Effect.Effect<ExportForecast, ExportRefusal> =>
  Effect.gen(function* () {
    const { fromTime, untilTime } = windowOf(request)
    const wanted = wantsKind(request)
    const window = { start: fromTime, end: untilTime }
    const { times = "happened" } = request
    const requestedParts = fromTime < untilTime ? request.selects : compileFilters(filtersOf(request))
    const reach = yield* recording.reach()
    const terms = { requested: requestedParts, times, reach }
    const { cut, kinds, redacted } = yield* askCoverage(recording, window, nowMicros, terms)
    // A trace contains pod lifecycles as part of their owners; `incomplete` says so if they are not being tracked.
    const isInTrace = (gvk: string): boolean => gvk !== podLivesKind && wanted(gvk)
    const podStreams = podStreamsOf(request, configuration)
    const requested = kinds.filter(
      ({ gvk, state, gaps, late }) =>
        (isInTrace(gvk) && state !== "untracked") || (podStreams.includes(gvk) && gaps.length + late.length > 0),
    )
    const { format } = request
    const settled = needsOwners(request, configuration)
      ? yield* recording.owners.settle(request.owner_deadline_ms ?? ownerDeadlineMs)
      : ({ unknown: 0, first: [] } satisfies Settled)
    const tracked = recording.statuses.all()
    const statuses = requestedStatuses(request, tracked)
    const present = { nowMicros, fromBeginning: request.require !== undefined }
    const rows = yield* recording.reader.ask("recordedSince", undefined)
    const incomplete = [
      ...incompleteKinds(
        requestedKinds(statuses, recording.statuses, reach, present),
        { fromTime, untilTime },
        () => rows,
      ),
      ...untrackedKinds(request.filters.kinds, tracked),
    ]
    const gaps = requested.reduce((sum, kind) => sum + kind.gaps.length, 0)
    const leftOut = format === "simkube" ? leftOutOf(configuration, wanted) : []
    const counts = yield* recording.reader.ask("count", {
      cut,
      fromTime,
      untilTime,
      times,
      kinds: requested.map(({ gvk }) => gvk).filter((gvk) => isInTrace(gvk) && !leftOut.includes(gvk)),
      filters: filtersOf(request),
    })
    const listing = yield* recording.firstLists(statuses)
    const late = requested.flatMap(lateOf)
    const missing = missingOf(request, { incomplete, gaps, late }, clockOf(recording, nowMicros))
    return {
      window,
      cut,
      redacted: redacted.filter(({ gvk }) => isInTrace(gvk)),
      kinds: requested.map((kind) => ({
        ...kind,
        ...(counts[kind.gvk] ?? { objects: 0, events: 0 }),
        late: kind.late.map((each) => ({
          ...each,
          across: times === "received" ? undefined : acrossOf([each.start, each.end], { fromTime, untilTime }),
        })),
      })),
      countedBefore: countedBefore(request, configuration),
      format,
      incomplete: incomplete.map(describePart),
      leftOut,
      unknownOwners: {
        count: settled.unknown,
        first: settled.first.map(
          ({ gvk, namespace, name }) => `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`,
        ),
      },
      future: futureOf({ fromTime, untilTime }, clockOf(recording, nowMicros)) ?? "",
      refusals: [
        notBegun({ fromTime, untilTime }, clockOf(recording, nowMicros)),
        listing.length === 0 ? undefined : listingRefusal(listing).message,
        missing,
      ].filter((refusal) => refusal !== undefined),
    }
  })

const lateOf = ({ gvk, late }: KindCoverage): ReadonlyArray<LateFacts> =>
  late.map(({ start, end, receivedStart, receivedEnd, ...facts }) => ({
    ...{ gvk, ...facts, happened: [start, end], received: [receivedStart, receivedEnd], across: undefined },
  }))

const countedBefore = (
  request: ExportRequest,
  configuration: RecorderConfiguration,
): ExportForecast["countedBefore"] => [
  ...(request.selects.needsLabels ? (["label filters"] as const) : []),
  ...(asksOwners(request, configuration) ? (["owner filters"] as const) : []),
]

const leftOutOf = (configuration: RecorderConfiguration, wanted: (gvk: string) => boolean): ReadonlyArray<string> => {
  const tracked = readTrackedObjects(trackedObjects(configuration) as Parameters<typeof readTrackedObjects>[0])
  return tracked === undefined ? [] : encodeTrackedObjects(tracked).leftOut.filter(wanted)
}
