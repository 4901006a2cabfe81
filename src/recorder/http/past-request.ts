/** `GET /v1/objects`, `/v1/changes`, `/v1/differences`, `/v1/kinds`, `/v1/events`, and those of the time line: parameters of the URL as a question for the reader. */
import type { Question } from "../../actors/index.ts"
import type { ExportRefusal } from "./body/http-answer.ts"

/** What each path is about, and which parameters it has. */
const paths: ReadonlyMap<string, { readonly about: Question["about"]; readonly parameters: ReadonlyArray<string> }> =
  new Map(
    Object.entries({
      "/v1/kinds": { about: "kinds", parameters: [] },
      "/v1/objects": {
        about: "objects",
        parameters: ["kind", "namespace", "name", "uid", "labels", "fields", "at", "order", "limit", "continue"],
      },
      "/v1/changes": {
        about: "changes",
        parameters: [
          ...["kind", "namespace", "name", "uid", "labels", "fields", "field", "from", "to"],
          ...["owned", "owners", "objects"],
        ],
      },
      "/v1/differences": {
        about: "differences",
        parameters: ["kind", "namespace", "name", "uid", "labels", "fields", "from", "to", "objects"],
      },
      "/v1/lanes": {
        about: "lanes",
        parameters: [...["kind", "namespace", "name", "uid", "find", "parent"], ...["from", "to", "offset", "limit"]],
      },
      "/v1/tiles": { about: "tiles", parameters: ["lane", "namespace", "from", "to", "width", "parts"] },
      "/v1/histogram": { about: "histogram", parameters: ["kind", "namespace", "from", "to", "width"] },
      "/v1/findings": { about: "findings", parameters: ["kind", "namespace", "from", "to"] },
      "/v1/events": {
        about: "events",
        parameters: ["kind", "namespace", "name", "uid", "labels", "fields", "after", "objects", "differences"],
      },
    }),
  )

/** Whether questions about the past are asked at this path. */
export const isPastPath = (path: string): boolean => paths.has(path)

/** Where an answer does not end. */
export const subscriptionPath = "/v1/events"

/** The paths, for messages. */
export const pastPaths: ReadonlyArray<string> = [...paths.keys()]

type GivenQuestion = Omit<Question, "known">

/** What of a request is not in its URL. */
interface RequestSurroundings {
  readonly nowMicros: number
  readonly accept?: string | undefined
  /** Of a client whose subscription broke off; it goes before `after`. */
  readonly lastEventId?: string | undefined
}

/**
 * The question, or the refusal. `nowMicros`: µs since the Unix epoch, the default of `at` and `to`. `accept`: with `application/x-ndjson` the answer is a JSON
 * object per line, else one document.
 */
export const readPastRequest = (
  path: string,
  given: URLSearchParams,
  { nowMicros, accept = "", lastEventId }: RequestSurroundings,
): GivenQuestion | ExportRefusal => {
  const known = paths.get(path)
  if (known === undefined) return refused(`there is no ${path}`)
  const unknown = [...given.keys()].find((name) => !known.parameters.includes(name))
  if (unknown !== undefined) {
    const allowed = known.parameters.length === 0 ? "there are none" : `allowed are ${known.parameters.join(", ")}`
    return refused(`unknown parameter ${JSON.stringify(unknown)}; ${allowed}`)
  }
  const repeated = known.parameters.find((name) => !severalTimes.includes(name) && given.getAll(name).length > 1)
  if (repeated !== undefined) return refused(`${repeated} is given more than once`)
  const [at, from, to] = ["at", "from", "to"].map((name) => timeIn(given, name, name === "from" ? 0 : nowMicros))
  if (at === undefined || from === undefined || to === undefined)
    return refused("at, from and to must be µs since 1970, as integers")
  if (from > to) return refused("from must not be after to")
  const order = given.get("order") ?? undefined
  if (order !== undefined && order !== "name" && order !== "change") return refused("order must be name or change")
  const limit = given.get("limit") ?? undefined
  if (limit !== undefined && !/^[1-9]\d{0,8}$/.test(limit)) return refused("limit must be a positive integer")
  const isSubscription = known.about === "events"
  const flags = flagNames.map((name) => given.get(name) ?? (name === "objects" && isSubscription ? "true" : "false"))
  if (flags.some((flag) => flag !== "true" && flag !== "false"))
    return refused("owned, owners, objects and differences must be true or false")
  const [withOwned, withOwners, withObjects, withDifferences] = flags.map((flag) => flag === "true")
  const after = isSubscription ? (lastEventId ?? given.get("after") ?? "now") : "now"
  if (after !== "now" && !/^\d{1,15}$/.test(after))
    return refused("after must be now or the sequence number of an event")
  const kinds = given.getAll("kind")
  const drawing = drawingIn(known.about, given)
  if ("status" in drawing) return drawing
  return {
    about: known.about,
    ...(kinds.length > 0 && { kinds }),
    ...textsIn(given),
    from,
    to: known.about === "objects" ? at : to,
    ...(order !== undefined && { order }),
    ...(limit !== undefined && { limit: Number(limit) }),
    ...drawing,
    withOwned: withOwned === true,
    withOwners: withOwners === true,
    withObjects: withObjects === true,
    ...(isSubscription
      ? {
          withDifferences: withDifferences === true,
          isEventStream: accept.includes("text/event-stream"),
          ...(after !== "now" && { after: Number(after) }),
        }
      : { isDocument: !accept.includes("application/x-ndjson") }),
  }
}

const severalTimes: ReadonlyArray<string> = ["kind", "lane"]

const mostLanes = 200
const mostColumns = 8192

/** What only questions of the time line have. */
const drawingIn = (
  about: Question["about"],
  given: URLSearchParams,
): Pick<Question, "lanes" | "width" | "offset" | "withParts"> | ExportRefusal => {
  const lanes = given.getAll("lane")
  if (lanes.length > mostLanes) return refused(`at most ${mostLanes} lanes may be asked for at once`)
  const width = given.get("width") ?? "0"
  if ((about === "tiles" || about === "histogram") && !isNumberUpTo(width, mostColumns))
    return refused(`width must be a number of columns from 1 to ${mostColumns}`)
  const offset = given.get("offset") ?? "0"
  if (offset !== "0" && !isNumberUpTo(offset, 1e9)) return refused("offset must be a number of lanes")
  const parts = given.get("parts") ?? "false"
  if (parts !== "true" && parts !== "false") return refused("parts must be true or false")
  if (about === "lanes") return { offset: Number(offset) }
  if (about === "tiles") return { lanes, width: Number(width), withParts: parts === "true" }
  return about === "histogram" ? { width: Number(width) } : {}
}

const isNumberUpTo = (text: string, most: number): boolean => /^[1-9]\d{0,9}$/.test(text) && Number(text) <= most

const flagNames = ["owned", "owners", "objects", "differences"] as const

const textNames = [
  ...(["namespace", "name", "uid", "labels", "fields", "field", "continue"] as const),
  ...(["find", "parent"] as const),
]

const textsIn = (given: URLSearchParams): Partial<Record<(typeof textNames)[number], string>> =>
  Object.fromEntries(textNames.flatMap((name) => (given.has(name) ? [[name, given.get(name) ?? ""]] : [])))

const refused = (message: string): ExportRefusal => ({ status: 400, message })

const timeIn = (given: URLSearchParams, name: string, byDefault: number): number | undefined => {
  const text = given.get(name)
  if (text === null) return byDefault
  return /^\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined
}
