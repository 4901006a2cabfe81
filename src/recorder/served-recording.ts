/** What the HTTP interface of a recorder serves. */
import * as Effect from "effect/Effect"
import { type AllowedPlace, addressUrl, isAllowed, openTarget, type StoreAddress } from "../blob/index.ts"
import { systemClock } from "../clock.ts"
import type { Access } from "./access/access.ts"
import type { AuditWebhook } from "./audit/audit-webhook.ts"
import { askCoverage } from "./export/coverage.ts"
import { forecastExport } from "./export/forecast.ts"
import { defaultExportLimits } from "./export/limits.ts"
import { ExportPlaces, PagePlaces } from "./export/places.ts"
import { type ExportContext, startExport } from "./export/start.ts"
import type { HttpApiSources } from "./http/http-api.ts"
import { shownTo, startQuery } from "./http/past.ts"
import type { PinSources } from "./http/pins.ts"
import { Subscriptions } from "./http/subscriptions.ts"
import { DiskMetrics, readVolumeBytes, volumeVariable } from "./metrics/disk-metrics.ts"
import { formatMetrics, type Metric } from "./metrics/metrics-text.ts"
import { gatherMetrics } from "./metrics/recorder-metrics.ts"
import type { RecorderLog } from "./notices/notice-log.ts"
import { openPinned } from "./open-pinned.ts"
import { PinnedRecordings, pinDirectory } from "./pins/pinned-recordings.ts"
import type { RecorderPins } from "./pins/recorder-pins.ts"
import type { RecorderSettings } from "./recorder.ts"
import type { RecorderActors } from "./recording/recorder-actors.ts"

interface ServedParts {
  readonly actors: RecorderActors
  readonly access: Access
  readonly exportContext: () => ExportContext
  readonly settings: RecorderSettings
  readonly dataDirectory: string
  readonly pins: RecorderPins
  /** Besides those of actors and disk. */
  readonly metrics: () => ReadonlyArray<Metric>
  readonly auditWebhook: AuditWebhook | undefined
  readonly log: RecorderLog
}

/** What is served, and the copies of pins that are open for it, to be closed with it. */
interface ServedRecording extends HttpApiSources {
  readonly pinned: PinSources & { readonly copies: PinnedRecordings }
}

export const servedRecording = ({
  actors,
  access,
  exportContext,
  settings,
  log,
  ...parts
}: ServedParts): ServedRecording => {
  const disk = new DiskMetrics(parts.dataDirectory, readVolumeBytes(process.env[volumeVariable]), systemClock)
  const nowMicros = (): number => systemClock.wallMicros()
  const clients = {
    access,
    rejected: (facts: object) => log.warn("rejected", { ...facts }),
    places: new ExportPlaces(),
    placesOfPages: new PagePlaces(),
    limits: settings.exportLimits ?? defaultExportLimits,
    audit: (line: object) => log.info("export", { ...line }),
    barred: (address: StoreAddress) => barredTarget(address, settings.allowedTargets ?? []),
  }
  const copies = new PinnedRecordings(
    (id) => openPinned(pinDirectory(parts.dataDirectory, id), (trouble) => log.warn(trouble), clients),
    systemClock,
  )
  return {
    notReady: () => actors.statuses.notReady(),
    degraded: () => actors.statuses.degraded(),
    verboseReadiness: () => actors.statuses.verboseReadiness(),
    metrics: Effect.suspend(() =>
      Effect.all([gatherMetrics(actors, nowMicros()), Effect.promise(() => disk.now()), parts.pins.metrics()], {
        concurrency: "unbounded",
      }),
    ).pipe(
      Effect.map((gathered) =>
        formatMetrics([...gathered.flat(), ...parts.metrics(), ...(parts.auditWebhook?.metrics() ?? [])]),
      ),
    ),
    ...clients,
    auditWebhook: parts.auditWebhook,
    pinned: { pins: parts.pins, copies, nowMicros },
    coverage: (window) => askCoverage(actors, window, nowMicros()),
    shownTo: (reader, question) => shownTo(actors, reader, question),
    startQuery: (question, reader) => startQuery(actors, question, reader, nowMicros()),
    nowMicros,
    forecast: (request) => forecastExport(exportContext(), request),
    startExport: (request, reader) => startExport(exportContext(), request, reader),
    subscriptions: new Subscriptions(),
    openTarget: (address, contentType) => openTarget(address, { contentType }),
    uploadLeft: (error) => log.warn(`an upload was aborted, and parts of it may remain: ${error.message}`),
  }
}

/** The recorder writes with its own credentials, so its operator decides where it may. */
const barredTarget = (address: StoreAddress, allowed: ReadonlyArray<AllowedPlace>) =>
  isAllowed(address, allowed)
    ? undefined
    : {
        status: 403,
        message: `this recorder may not write to ${addressUrl(address)}; its operator can allow that with --allow-target`,
      }
