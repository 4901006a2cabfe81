/**
 * Questions about the past, from an authorised request to its streamed answer.
 *
 * They share the places of exports, because both cost a reading thread's time, but for what a page asks for its time line, which has places of its own: beyond them there is 429 with Retry-After, and a client that reads next to nothing
 * gives its place up when another needs it. A client that goes away ends its question.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import { clockTolerance, type Question } from "../../actors/index.ts"
import type { Clock } from "../../clock.ts"
import { parseGvk } from "../../kube/offline.ts"
import { visible } from "../../text/index.ts"
import type { MayRead, Reader } from "../access/access.ts"
import { type ExportLimits, withinLimits } from "../export/limits.ts"
import { type ExportPlaces, type PagePlaces, retryAfterSeconds } from "../export/places.ts"
import type { Recording } from "../export/recording.ts"
import { finishClient, responseSink } from "../export/response-sink.ts"
import type { ExportReader } from "../export/service.ts"
import type { StartedExport } from "../export/start.ts"
import { transferExport } from "../export/transfer.ts"
import type { KindStatus } from "../status/kind-status.ts"
import { clientGone, type ExportRefusal, refuse } from "./body/http-answer.ts"
import { readPastRequest } from "./past-request.ts"

// Which part of a question's answer a reader may see: of each kind all objects, those of the namespace that was asked about, the one that was named, or none.
//
// As an API server does, a question without a namespace needs the right to list the kind in all of them, and a kind that was asked for by name and may not be
// listed is an error and no empty answer. Kinds that come in without being named (all of them, neighbours in an owner tree) are left out.
//
// A page opens without a namespace, and who may read only some must not have to guess their names: for its time line and its differences, each namespace that the
// recording has objects of a kind in is asked about, up to a number.

/** A kind that a question is about. */
export interface AskedKind {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** `deployments`; absent: it was not recorded, so no right can be asked for. */
  readonly plural?: string
  /** Absent: not known. */
  readonly namespaced?: boolean
  /** Those in which objects were recorded. Absent: not asked for. */
  readonly namespaces?: ReadonlyArray<string>
}

/** What of a question concerns rights. */
export interface AskedPart {
  /** By name. Absent: all that are recorded. */
  readonly kinds?: ReadonlyArray<string>
  readonly namespace?: string
  readonly name?: string
  readonly withOwned?: boolean
  readonly withOwners?: boolean
}

/** A kind of which something may be shown. */
export interface ShownKind {
  readonly gvk: string
  /** Absent: those of all namespaces. */
  readonly namespaces?: ReadonlyArray<string>
  /** Only the object that the question names. */
  readonly isNamedOnly?: true
}

/** The kinds that the reader may see something of, or why the question is refused. */
type ReadablePart =
  | { readonly tag: "shown"; readonly kinds: ReadonlyArray<ShownKind> }
  | { readonly tag: "refused"; readonly message: string }

/**
 * Asks for the rights. `named`: the kinds that the question names; `others`: those that its answer may contain besides.
 *
 * Rejects with ReviewFailed.
 */
export const readablePart = async (
  { identity, mayRead }: Reader,
  question: AskedPart,
  named: ReadonlyArray<AskedKind>,
  others: ReadonlyArray<AskedKind>,
): Promise<ReadablePart> => {
  const may: May = (action) => mayRead(identity, action)
  const isTree = question.withOwned === true || question.withOwners === true
  // The right to one object shows none of its neighbours.
  const name = isTree ? undefined : question.name
  const ofNamed = await shownOfAll(may, named, question.namespace, name)
  if (ofNamed === undefined) return { tag: "refused", message: tooMany(visible(identity.username)) }
  const missing = named.find((_, index) => ofNamed[index] === undefined)
  if (missing !== undefined) {
    const message = refusalOf(visible(identity.username), missing, question.namespace)
    return { tag: "refused", message }
  }
  const ofOthers = await shownOfAll(may, others, question.namespace, undefined)
  if (ofOthers === undefined) return { tag: "refused", message: tooMany(visible(identity.username)) }
  return { tag: "shown", kinds: [...ofNamed, ...ofOthers].filter((kind) => kind !== undefined) }
}

type May = (action: Parameters<MayRead>[1]) => Promise<boolean>

/** Kinds in namespaces that are asked about for one question: a page asks again every few seconds. */
export const mostPlaces = 1000

const tooMany = (reader: string): string =>
  `${reader} may not list everything in all namespaces, and the recording has more than ${mostPlaces} kinds in namespaces, too many to ask about each: ` +
  "name a namespace with the parameter namespace, or a kind with the parameter kind"

/** In the order of the kinds; `undefined`: they are in too many namespaces to be asked about. */
const shownOfAll = async (
  may: May,
  kinds: ReadonlyArray<AskedKind>,
  namespace: string | undefined,
  name: string | undefined,
): Promise<ReadonlyArray<ShownKind | undefined> | undefined> => {
  const shown = await Promise.all(kinds.map((kind) => shownOf(may, kind, namespace, name)))
  if (namespace !== undefined) return shown
  const placesOf = (kind: AskedKind, at: number) => (shown[at] === undefined ? (kind.namespaces ?? []) : [])
  const places = kinds.reduce((sum, kind, at) => sum + placesOf(kind, at).length, 0)
  if (places > mostPlaces) return undefined
  return Promise.all(kinds.map(async (kind, at) => shown[at] ?? shownIn(may, kind, placesOf(kind, at))))
}

const shownIn = async (
  may: May,
  { gvk, plural, namespaced = true }: AskedKind,
  namespaces: ReadonlyArray<string>,
): Promise<ShownKind | undefined> => {
  const group = parseGvk(gvk)?.group
  if (plural === undefined || group === undefined || !namespaced) return undefined
  const action = { verb: "list", group, resource: plural, isSearch: true } as const
  const mayIn = await Promise.all(namespaces.map((namespace) => namespace !== "" && may({ ...action, namespace })))
  const readable = namespaces.filter((_, at) => mayIn[at] === true)
  return readable.length === 0 ? undefined : { gvk, namespaces: readable }
}

/** `undefined`: nothing. */
const shownOf = async (
  may: May,
  { gvk, plural, namespaced = true }: AskedKind,
  namespace = "",
  name: string | undefined,
): Promise<ShownKind | undefined> => {
  const group = parseGvk(gvk)?.group
  if (plural === undefined || group === undefined) return undefined
  const place = { group, resource: plural, namespace: namespaced ? namespace : "" }
  const shown = place.namespace === "" ? { gvk } : { gvk, namespaces: [place.namespace] }
  if (await may({ verb: "list", ...place })) return shown
  return name !== undefined && (await may({ verb: "get", ...place, name }))
    ? { ...shown, isNamedOnly: true }
    : undefined
}

const refusalOf = (reader: string, { gvk, plural, namespaced = true }: AskedKind, namespace = ""): string => {
  const { group = "", kind = gvk } = parseGvk(gvk) ?? {}
  if (plural === undefined)
    return `whether ${reader} may list objects of kind ${kind} cannot be checked: the recording does not have the name of their resource`
  const resource = group === "" ? plural : `${plural}.${group}`
  if (!namespaced) return `${reader} may not list ${resource}, which are in no namespace`
  const place = namespace === "" ? "in all namespaces: name one in which it may" : `in namespace ${namespace}`
  return `${reader} may not list ${resource} ${place}`
}

/** What questions about the past need from the recorder. */
export interface PastSources {
  /** Begins to answer; the answer goes to the reader. */
  readonly startQuery: (question: AskedQuestion, receiver: ExportReader) => Effect.Effect<StartedExport, ExportRefusal>
  /** What a reader may see of the answer to a question now. */
  readonly shownTo: (reader: Reader, question: AskedQuestion) => Effect.Effect<ReadonlyArray<ShownKind>, ExportRefusal>
  /** µs since the Unix epoch: the default moment. */
  readonly nowMicros: () => number
  readonly places: ExportPlaces
  readonly placesOfPages: PagePlaces
  readonly limits: ExportLimits
}

/** A question about the past; what the client may see of it has been asked for. */
export type AskedQuestion = Omit<Question, "known">

/** Who asks for what. */
export interface PastRequest {
  readonly path: string
  readonly parameters: URLSearchParams
  /** Who asks, from where. */
  readonly client: string
  /** Only what its rights cover is shown. `undefined`: everything is. */
  readonly reader: Reader | undefined
}

export const answerPast = (
  request: IncomingMessage,
  response: ServerResponse,
  { path, parameters, client, reader }: PastRequest,
  sources: PastSources,
  clock: Clock,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { accept } = request.headers
    const question = readPastRequest(path, parameters, { nowMicros: sources.nowMicros(), accept })
    if ("status" in question) return refuse(response, question)
    const contentType = question.isDocument === true ? "application/json" : "application/x-ndjson"
    if (request.method === "HEAD") {
      response.setHeader("Content-Type", contentType)
      response.end()
      return
    }
    const place = (ofPages.has(question.about) ? sources.placesOfPages : sources.places).take(client)
    if ("message" in place) return refuse(response, { status: 429, message: place.message, retryAfterSeconds })
    const outcome = yield* transferExport({
      start: (receiver) =>
        Effect.flatMap(withRights(question, reader, sources), (asked) => sources.startQuery(asked, receiver)),
      sink: responseSink(response, contentType, clock),
      limits: withinLimits(sources.limits, {}),
      gone: clientGone(response),
      clock,
      place,
    }).pipe(
      Effect.flatMap((ended) =>
        Effect.promise(async () => {
          if (ended.tag === "whole") await finishClient(response, ended, clock)
          return ended
        }),
      ),
      Effect.ensuring(Effect.sync(() => place.giveBack())),
    )
    if (outcome.tag === "refused") return refuse(response, outcome.refusal)
    if (outcome.tag !== "failed" && outcome.tag !== "limit") return
    if (response.headersSent) response.destroy()
    else refuse(response, { status: outcome.tag === "limit" ? outcome.status : 500, message: outcome.message })
  })

/** The time line. */
const drawn: ReadonlySet<Question["about"]> = new Set(["lanes", "tiles", "histogram", "findings"])

/** Questions that a client with rights to some namespaces asks without naming one. */
const ofNamespacesFound: ReadonlySet<Question["about"]> = new Set([...drawn, "differences"])

/** Questions that an open page asks again and again. */
const ofPages: ReadonlySet<Question["about"]> = new Set(["kinds", ...drawn])

/** The question, restricted to what the reader may see. */
export const withRights = (
  question: AskedQuestion,
  reader: Reader | undefined,
  { shownTo }: Pick<PastSources, "shownTo">,
): Effect.Effect<AskedQuestion, ExportRefusal> =>
  reader === undefined
    ? Effect.succeed(question)
    : Effect.map(shownTo(reader, question), (shown) => ({ ...question, shown }))

/** Asks the reader of a recording, once what was received is durable. `nowMicros`: µs since the Unix epoch. */
export const startQuery = (
  recording: Recording,
  question: AskedQuestion,
  receiver: ExportReader,
  nowMicros: number,
): Effect.Effect<StartedExport, ExportRefusal> =>
  Effect.gen(function* () {
    const { knownUntil } = yield* recording.reach()
    const until = Math.min(nowMicros, (knownUntil ?? Number.POSITIVE_INFINITY) - 1)
    // The clock of a client that asks about this moment may be ahead.
    const isNow = question.to > until && question.to <= until + clockTolerance
    // What is drawn keeps its scale: then nothing is taken to have happened meanwhile.
    const isDrawn = question.width !== undefined
    const knownTo = isNow && isDrawn && nowMicros <= until + clockTolerance ? question.to : until
    const known = recording.statuses
      .all()
      .filter(isWatched)
      .map(({ gvk }) => ({ gvk, until: knownTo }))
    const to = isNow && !isDrawn ? Math.max(until, question.from) : question.to
    const close = yield* recording.reader.query(
      { ...question, to, known },
      {
        frame: (payload) => receiver.piece(payload),
        end: (error, note) => {
          receiver.end(error, 0, note)
        },
      },
    )
    return { ...noFacts, cancel: close }
  })

/** Asked for with each question, and so for each page. */
export const shownTo = (
  recording: Recording,
  reader: Reader,
  question: AskedQuestion,
): Effect.Effect<ReadonlyArray<ShownKind>, ExportRefusal> =>
  Effect.gen(function* () {
    const withNamespaces = ofNamespacesFound.has(question.about) && question.namespace === undefined
    const { named, others } = yield* recording.reader.ask("askedKinds", {
      ...{ names: question.kinds ?? [], withNamespaces },
    })
    const isTree = question.withOwned === true || question.withOwners === true
    const besides = question.kinds === undefined || isTree ? others : []
    // The right to one object does not show where it is among others.
    const { name: _, ...rest } = question
    const part = yield* Effect.tryPromise({
      try: () => readablePart(reader, question.about === "lanes" ? rest : question, named, besides),
      catch: unreviewed,
    })
    if (part.tag === "refused") return yield* Effect.fail({ status: 403, message: part.message })
    return part.kinds
  })

const unreviewed = (): ExportRefusal => ({
  status: 503,
  message: "the API server could not check access; try again. The recorder's log has the reason",
  retryAfterSeconds: 1,
})

const isWatched = ({ state }: KindStatus): boolean => state === "watching"

/** What an answer lacks is in the answer. */
const noFacts = {
  gaps: 0,
  leftOut: [],
  warnings: [],
  late: undefined,
  incomplete: undefined,
  future: undefined,
  unknownOwners: undefined,
  redacted: undefined,
  removed: [],
} as const
