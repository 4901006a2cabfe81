/**
 * `/v1/pins`: windows that are kept although retention removes what is around them, and `/pins/ID/…`, each of them as a recording of its own.
 *
 * `/pins/ID/ui/` is the page of the window. While the window is in the recording, the questions of that page are answered from there; once retention has removed what is around it, from
 * the window's copy. The address stays the same.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import * as Effect from "effect/Effect"
import type { Pin } from "../../archive/index.ts"
import { formatInstant } from "../../local-time.ts"
import { servePage } from "../../page/index.ts"
import type { Access, Action, Decision, Refusal } from "../access/access.ts"
import { alertSentence } from "../pins/alert-pin.ts"
import { readPinBody } from "../pins/pin-body.ts"
import type { PinnedRecordings } from "../pins/pinned-recordings.ts"
import type { RecorderPins } from "../pins/recorder-pins.ts"
import { json, refuse, respondJson, text } from "./body/http-answer.ts"
import type { RequestBodies } from "./body/request-bodies.ts"
import { isPastPath } from "./past-request.ts"

/** Of the pins of a recorder. */
const pinsPath = "/v1/pins"

/** What answers need. */
export interface PinSources {
  readonly pins: Pick<RecorderPins, "list" | "find" | "add" | "alert" | "remove">
  readonly copies: Pick<PinnedRecordings, "answer" | "forget">
  /** µs since the Unix epoch. */
  readonly nowMicros: () => number
}

/** A request whose rights are not known yet. */
interface AskedRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** The address of the client. */
  readonly from: string
  readonly access: Access
  readonly bodies: RequestBodies
  /** Reads the rest of a body that is not taken. */
  readonly discard: () => void
  readonly reject: (decision: Refusal) => void
}

const idForm = "[a-z0-9]{1,40}-[a-z0-9]{1,40}"
const pinForm = new RegExp(`^${pinsPath}/(${idForm})$`)
const pinnedForm = new RegExp(`^/pins/(${idForm})(/.*)?$`)

/** Whether this is the path of pins, or below it. */
export const isPinsPath = (path: string): boolean => path === pinsPath || path.startsWith(`${pinsPath}/`)

/** The pin that a path is below, and the rest of the path; `undefined`: it is below none. */
export const pinnedPath = (path: string): { readonly id: string; readonly rest: string } | undefined => {
  const [, id, rest = ""] = pinnedForm.exec(path) ?? []
  return id === undefined ? undefined : { id, rest }
}

/** A pin for programs. Times are RFC 3339, sizes bytes. */
export const pinJson = (pin: Pin) => {
  const { id, from, until, note, source, labels, place, bytes } = pin
  const alert = alertSentence(pin)
  return {
    ...{ id, from: formatInstant(from), until: formatInstant(until), note, source, labels },
    ...{ created: formatInstant(pin.createdMicros), place, bytes },
    ...(pin.lostThrough !== undefined && { lostThrough: formatInstant(pin.lostThrough) }),
    ...(pin.exported !== undefined && { exported: formatInstant(pin.exported) }),
    ...(alert !== undefined && { alert }),
  }
}

/** What its page needs of a pin: the note and the labels are for who may list pins, which readers of a part of the recording need not be allowed to. */
const windowJson = (pin: Pin) => {
  const { id, from, until, place, bytes } = pinJson(pin)
  return { id, from, until, place, bytes }
}

type Allowed = Extract<Decision, { readonly tag: "allowed" }>

/** Decides, and responds if the request is refused. */
const allowed = (
  { request, access, discard, reject }: AskedRequest,
  action: Action,
): Effect.Effect<Allowed | undefined> =>
  Effect.map(
    Effect.promise(() => access.decide(request.headers, action)),
    (decision) => {
      if (decision.tag === "allowed") return decision
      discard()
      reject(decision)
      return undefined
    },
  )

const reading: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"])

/** Answers a request for a path of {@link isPinsPath}. */
export const answerPins = (asked: AskedRequest, sources: PinSources): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { request, response, path, from, discard } = asked
    const [, id] = pinForm.exec(path) ?? []
    const other = id === undefined ? "POST" : "DELETE"
    if (path !== pinsPath && id === undefined) {
      discard()
      return text(response, 404, `not found; pins are at ${pinsPath} and ${pinsPath}/ID\n`)
    }
    if (!reading.has(request.method) && request.method !== other) {
      discard()
      response.setHeader("Allow", `GET, HEAD, ${other}`)
      return text(response, 405, `only GET, HEAD and ${other} are allowed\n`)
    }
    const isChange = request.method === other
    const decision = yield* allowed(asked, !isChange ? "list-pins" : id === undefined ? "create-pin" : "delete-pin")
    if (decision === undefined) return
    const who = `${decision.who} at ${from}`
    if (isChange && id === undefined) return yield* answerPost(asked, who, sources)
    discard()
    if (isChange && id !== undefined) return yield* answerDelete(response, id, who, sources)
    if (id !== undefined) return yield* respondJson(response, Effect.map(sources.pins.find(id), pinJson))
    return yield* respondJson(
      response,
      Effect.map(sources.pins.list(), (all) => ({ items: all.map(pinJson) })),
    )
  })

const answerPost = (
  { request, response, from, bodies }: AskedRequest,
  who: string,
  { pins, nowMicros }: PinSources,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const body = yield* Effect.promise(() => bodies.receive(request, response, from))
    if (body.tag === "gone") return
    if (body.tag === "refused") return refuse(response, body)
    const read = readPinBody(body.text, nowMicros())
    if (read.tag === "refused") return refuse(response, read)
    // Only browsers send this header, and the page is the only one that may send this request.
    const source = request.headers["sec-fetch-site"] === undefined ? "command" : "page"
    const change = read.tag === "alerts" ? pins.alert(read.group, who) : pins.add({ ...read.pin, source }, who)
    return yield* Effect.match(change, {
      onSuccess: (pin) => json(response, 201, pinJson(pin)),
      onFailure: (refusal) => refuse(response, refusal),
    })
  })

const answerDelete = (
  response: ServerResponse,
  id: string,
  who: string,
  { pins, copies }: PinSources,
): Effect.Effect<void> =>
  Effect.match(pins.remove(id, who), {
    onFailure: (refusal) => refuse(response, refusal),
    onSuccess: (wasThere) => {
      if (!wasThere) return text(response, 404, `there is no pin ${id}\n`)
      void copies.forget(id)
      response.writeHead(204)
      response.end()
    },
  })

/**
 * Answers a request below a pin. `pass` answers it from the recording, as one for another URL.
 */
export const answerPinned = (
  asked: AskedRequest,
  { id, rest }: { readonly id: string; readonly rest: string },
  { pins, copies }: PinSources,
  pass: () => Effect.Effect<void>,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { request, response, discard } = asked
    if (rest === "" || rest === "/") {
      discard()
      // Relative, because a proxy in front may have removed a prefix.
      response.setHeader("Location", rest === "" ? `${id}/ui/` : "ui/")
      return text(response, 308, "see ui/\n")
    }
    if (rest === "/ui" || rest.startsWith("/ui/")) {
      discard()
      return servePage(request, response, rest)
    }
    const action = rest === "/export" ? "export" : rest === pinsPath || isPastPath(rest) ? "query" : actions.get(rest)
    if (action === undefined) {
      discard()
      return text(
        response,
        404,
        `not found; below a pin are /ui/, ${[...actions.keys()].join(", ")}, /v1/… and /export\n`,
      )
    }
    const decision = yield* allowed(asked, action)
    if (decision === undefined) return
    const found = yield* Effect.result(pins.find(id))
    if (found._tag === "Failure" || rest === pinsPath) {
      discard()
      return found._tag === "Failure"
        ? refuse(response, found.failure)
        : json(response, 200, {
            items: [decision.reader === undefined ? pinJson(found.success) : windowJson(found.success)],
          })
    }
    request.url = (request.url ?? "").replace(/^[^?]*/, rest)
    if (found.success.bytes === 0) return yield* pass()
    const refusal = yield* Effect.promise(() => copies.answer(id, request, response))
    if (refusal === undefined) return
    discard()
    refuse(response, refusal)
  })

const actions: ReadonlyMap<string, Action> = new Map([["/v1/coverage", "coverage"]])
