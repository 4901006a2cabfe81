/** What a command line names to be inspected: a trace, a directory, or a recorder. */
import { stat } from "node:fs/promises"
import { faultOfPlace, type PlaceOptions, parseServer } from "../export/connection/recorder-place.ts"

/** What is inspected. `name`: as it was given. */
export type InspectedSubject =
  | { readonly tag: "trace"; readonly name: string; readonly path: string }
  | { readonly tag: "recording"; readonly name: string; readonly place: PlaceOptions }

/** What the operand and the options name; a problem is a text. Only whether it is a directory is looked up. */
export const readSubject = async (
  given: PlaceOptions & { readonly from: string | undefined },
  operand: string | undefined,
): Promise<InspectedSubject | string> => {
  const named = [given.server, given.dataDir, given.inCluster].filter((place) => place !== undefined)
  if (operand === "") return "the name of TRACE is empty"
  if (operand !== undefined && named.length > 0)
    return `${JSON.stringify(operand)} and an option each name what to inspect: use only one of them`
  if (operand === undefined && named.length === 0)
    return "missing argument: expected TRACE, DATA-DIR or the URL of a recorder"
  const place = operand === undefined ? given : await placeOf(given, operand)
  if (typeof place === "string") return place
  if (place === undefined)
    return { tag: "trace", name: operand === "-" ? "standard input" : (operand ?? ""), path: operand ?? "" }
  if (given.from !== undefined) return "--from is for a TRACE"
  const fault = faultOfPlace(place)
  if (fault !== undefined) return fault
  return { tag: "recording", name: operand ?? place.dataDir ?? String(place.server ?? "the recorder"), place }
}

/** `undefined`: the operand is a trace. */
const placeOf = async (given: PlaceOptions, operand: string): Promise<PlaceOptions | string | undefined> => {
  if (/^https?:\/\//i.test(operand)) {
    const server = parseServer(operand)
    return server._tag === "Refused"
      ? `${JSON.stringify(operand)}: ${server.reason}`
      : { ...given, server: server.value }
  }
  if (operand === "-") return undefined
  // What else is wrong with it is reported when it is opened.
  const isDirectory = await stat(operand).then(
    (status) => status.isDirectory(),
    () => false,
  )
  return isDirectory ? { ...given, dataDir: operand } : undefined
}
