/** The pins of a recorder, with what it does for them by itself. */
import * as Effect from "effect/Effect"
import { openTarget, type StoreAddress } from "../../blob/index.ts"
import { systemClock } from "../../clock.ts"
import { defaultExportLimits, type ExportLimits } from "../export/limits.ts"
import { type ExportContext, startExport } from "../export/start.ts"
import type { RecorderLog } from "../notices/notice-log.ts"
import type { RecorderActors } from "../recording/recorder-actors.ts"
import { type AlertMargins, defaultAlertMargins } from "./alert-pin.ts"
import { type PinExportParts, PinExports } from "./pin-exports.ts"
import { pinDirectory } from "./pinned-recordings.ts"
import { pinActors, RecorderPins } from "./recorder-pins.ts"

/** How pins are made and passed on. */
export interface PinSettings {
  /** What is kept around alerts. Default: half an hour before and after. */
  readonly alertMargins?: AlertMargins
  /** Where windows are written once they are over: objects below this key. Default: nowhere. */
  readonly exportTo?: StoreAddress | undefined
}

interface PinSurroundings {
  readonly actors: RecorderActors
  readonly exportContext: () => ExportContext
  readonly exportLimits: ExportLimits | undefined
  readonly dataDirectory: string
  /** Opens the recording in a directory. */
  readonly openCopy: (directory: string, onTrouble: (message: string) => void) => ReturnType<PinExportParts["openCopy"]>
  readonly log: RecorderLog
}

/** Exports run until the surrounding scope closes. */
export const openPins = (
  { alertMargins: margins = defaultAlertMargins, exportTo: to }: PinSettings,
  { actors, exportContext, exportLimits: limits = defaultExportLimits, dataDirectory, openCopy, log }: PinSurroundings,
) =>
  Effect.gen(function* () {
    const pins = new RecorderPins({ actors: pinActors(actors), clock: systemClock, margins, log })
    const exports =
      to &&
      new PinExports({
        ...{ pins, to, limits, log, clock: systemClock, random: Math.random },
        start: (request, reader) => startExport(exportContext(), request, reader),
        openCopy: (id) => openCopy(pinDirectory(dataDirectory, id), (trouble) => log.warn(trouble)),
        openTarget: (address, contentType) => openTarget(address, { contentType }),
      })
    if (exports !== undefined) yield* Effect.forkScoped(exports.run())
    return { pins, metrics: () => exports?.metrics() ?? [] }
  })
