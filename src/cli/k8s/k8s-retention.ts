/** How much a recorder in a cluster keeps: as given, and by default four fifths of its volume, so that it never fills it. */
import { quantityOf } from "../../kube/quantity.ts"
import { readRetainBytes, readRetainFor } from "../../recorder/configuration/retention-limits.ts"
import { list, type Reading, value } from "../command-line/arguments.ts"
import { ofKinds } from "../record/record-limits.ts"

/** As the recorder reads it, but passed on as written. */
const asWritten =
  (parse: (given: string) => Reading<unknown>) =>
  (given: string): Reading<string> => {
    const reading = parse(given)
    return reading._tag === "Value" ? value(given) : reading
  }

const bytesOfKinds = asWritten(ofKinds((text, gvk) => readRetainBytes(text, gvk !== undefined)))

/** Leaves the limit to the configuration file. */
const none = "none"

export const retentionOptions = {
  retainFor: list(
    "DURATION",
    "how long what was recorded is kept, such as 30d; of a kind: v1.Event=1d; default: as long as there is room",
    asWritten(ofKinds((text) => readRetainFor(text))),
  ),
  retainBytes: list(
    "SIZE",
    "how much the recording may take on disk; of a kind: v1.Event=1Gi; none: any; default: four fifths of --size",
    (given) => (given === none ? value(given) : bytesOfKinds(given)),
  ),
} as const

interface RetentionGiven {
  readonly retainFor: ReadonlyArray<string>
  readonly retainBytes: ReadonlyArray<string>
  readonly size: string
}

const mebibyte = 1024 * 1024

/** Arguments of the recorder. `isLimited`: the configuration file has a limit of bytes for all, which the command line must not replace unasked. */
export const retentionArguments = (
  { retainFor, retainBytes, size }: RetentionGiven,
  isLimited: boolean,
): ReadonlyArray<string> => {
  const wanted = retainBytes.filter((text) => text !== none)
  const isDefault = !isLimited && retainBytes.every((text) => text.includes("="))
  const fourFifths = `${Math.floor((0.8 * (quantityOf(size) ?? 0)) / mebibyte)}Mi`
  // Of a volume that is too small for any limit, none is set.
  const ofVolume = isDefault && typeof readRetainBytes(fourFifths, false) === "number" ? [fourFifths] : []
  return [
    ...retainFor.map((text) => `--retain-for=${text}`),
    ...[...ofVolume, ...wanted].map((text) => `--retain-bytes=${text}`),
  ]
}
