/** The pins of a recording, of a running recorder or in a directory that no recorder writes to. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { PinRequest } from "../../archive/index.ts"
import { optional } from "../command-line/arguments.ts"
import type { CommandTerminal } from "../command-line/command.ts"
import { parseOwnDirectory } from "../command-line/shared-options.ts"
import { ExportCut, ExportRefused } from "../export/connection/export-errors.ts"
import { askRecorder, type OtherQuestion, type RecorderAddress } from "../export/connection/recorder-connection.ts"
import { openPlace, type PlaceOptions, placeOptions } from "../export/connection/recorder-place.ts"
import { piecesOf } from "../export/export-client.ts"

/** Where pins are. */
export const pinPlaceOptions = {
  ...placeOptions,
  dataDir: optional(
    "DIR",
    "those of the recording in this directory instead; no recorder may run in it if pins are changed",
    parseOwnDirectory,
  ),
}

/** A pin as a recorder describes it. Times are RFC 3339. */
const KeptPin = Schema.Struct({
  ...{ id: Schema.String, from: Schema.String, until: Schema.String, note: Schema.String, source: Schema.String },
  ...{ place: Schema.String, bytes: Schema.Number, alert: Schema.optionalKey(Schema.String) },
})
export type KeptPin = typeof KeptPin.Type

const PinList = Schema.Struct({ items: Schema.Array(Schema.Unknown) })

/** Every method rejects with an ExportError or an ArchiveError. */
export interface KeptPins {
  /** What `now` means, in µs since the Unix epoch: of a directory, the end of its recording. */
  readonly now: number
  /** The address of the page of a pin; `undefined`: it has none that others can open. */
  readonly pageOf: (id: string) => string | undefined
  /** Each as it was answered, with what is printed of it. */
  readonly list: () => Promise<ReadonlyArray<{ readonly pin: KeptPin; readonly answer: unknown }>>
  readonly add: (request: Omit<PinRequest, "source">) => Promise<{ readonly pin: KeptPin; readonly answer: unknown }>
  /** Whether there was one. */
  readonly remove: (id: string) => Promise<boolean>
}

/** `nowMicros`: of this machine, µs since the Unix epoch. */
export const openPins = async (
  options: PlaceOptions,
  terminal: CommandTerminal,
  nowMicros: number,
  signal: AbortSignal,
): Promise<KeptPins> => {
  const { dataDir, inCluster } = options
  // What reads a directory is loaded only when it is needed.
  if (dataDir !== undefined) return (await import("./pins-in-directory.ts")).pinsInDirectory(dataDir)
  return ofRecorder(
    await openPlace(options, terminal, terminal.say, signal),
    inCluster === undefined,
    nowMicros,
    signal,
  )
}

const ofRecorder = (address: RecorderAddress, isDirect: boolean, now: number, signal: AbortSignal): KeptPins => {
  const { recorder } = address
  const ask = async (question: OtherQuestion): Promise<unknown> => {
    const response = await askRecorder(address, question, signal)
    const pieces: Uint8Array[] = []
    for await (const piece of piecesOf(response, recorder.name, signal)) pieces.push(piece)
    const text = Buffer.concat(pieces).toString("utf8")
    return text === "" ? undefined : JSON.parse(text)
  }
  const described = (answer: unknown) => {
    const reading = Schema.decodeUnknownResult(KeptPin)(answer)
    if (Result.isFailure(reading)) throw unlike(recorder.name)
    return { pin: reading.success, answer }
  }
  return {
    now,
    // Through an API server there is none without a proxy.
    pageOf: (id) => (isDirect ? recorder.url.href.replace(/export$/, `pins/${id}/ui/`) : undefined),
    list: async () => {
      const answer = await ask({ method: "GET", path: "pins", accept: "application/json", body: "" })
      const reading = Schema.decodeUnknownResult(PinList)(answer)
      if (Result.isFailure(reading)) throw unlike(recorder.name)
      return reading.success.items.map(described)
    },
    add: async ({ from, until, note = "" }) =>
      described(
        await ask({
          ...{ method: "POST", path: "pins", accept: "application/json" },
          body: JSON.stringify({ from, until, note }),
        }),
      ),
    remove: async (id) => {
      try {
        await ask({ method: "DELETE", path: `pins/${encodeURIComponent(id)}`, accept: "application/json", body: "" })
        return true
      } catch (error) {
        if (error instanceof ExportRefused && error.status === 404) return false
        throw error
      }
    },
  }
}

const unlike = (server: string): ExportCut =>
  new ExportCut({ server, bytes: 0, reason: "the answer is not one about pins: it is an older recorder, or none" })
