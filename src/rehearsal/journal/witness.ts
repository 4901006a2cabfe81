/**
 * Sees every change of a rehearsal's sandbox and every write that is requested, and knows who caused what: changes happen within the call that
 * causes them, so what is changed outside of any is the sandbox's own doing.
 */

import type { Eventually, StoredObject } from "../../apiserver/index.ts"
import { isRecord } from "../../is-record.ts"
import type { LocalAnswer, LocalRequest, ObservedChange, RequestTarget, Sandbox } from "../../sandbox/index.ts"
import { type Difference, differencesOf, type JournalEntry, type JournalObject } from "./journal.ts"

type Members = Readonly<Record<string, unknown>>

export class Witness {
  readonly #sandbox: Sandbox
  readonly #note: (entry: JournalEntry) => void
  /** Present states, by kind and place. */
  readonly #objects = new Map<string, Map<string, ObservedChange["change"]>>()
  /** What the call under way has changed. */
  #within: ObservedChange[] | undefined
  /** Writes that webhooks are asked about, and what was changed outside of a call meanwhile. */
  #asked = 0
  #late: ObservedChange[] = []
  #changes = 0

  constructor(sandbox: Sandbox, note: (entry: JournalEntry) => void) {
    this.#sandbox = sandbox
    this.#note = note
    sandbox.observe((observed) => this.#observe(observed))
  }

  /** Changes so far. */
  get changes(): number {
    return this.#changes
  }

  /** The present objects of all kinds, each with its kind. */
  *objects(): Generator<readonly [kind: string, object: StoredObject], void> {
    for (const [kind, objects] of this.#objects) {
      const places = [...objects.keys()].sort()
      for (const place of places) {
        const change = objects.get(place)
        if (change !== undefined) yield [kind, parsed(change)]
      }
    }
  }

  /** Makes the state at the start, of which nothing is noted. */
  seeded(seed: () => void): void {
    this.#collect(seed)
  }

  /** Feeds a change of that object; returns what it changed. What else had to change for it is noted as the sandbox's doing. */
  fed<Result>(
    { kind, namespace, name }: JournalObject,
    feed: () => Result,
  ): { readonly result: Result; readonly differences: ReadonlyArray<Difference> } {
    const { result, changes } = this.#collect(feed)
    const isOwn = ({ gvk, change }: ObservedChange): boolean =>
      gvk === kind && change.namespace === namespace && change.name === name
    for (const change of changes) if (!isOwn(change)) this.#noteOwn(change)
    return { result, differences: changes.filter(isOwn).flatMap(differencesIn) }
  }

  /** Carries out a participant's request, and notes it if it is a write. */
  around(controller: string, request: LocalRequest, carryOut: () => Eventually<LocalAnswer>): Eventually<LocalAnswer> {
    const { result, changes } = this.#collect(carryOut)
    const target = this.#sandbox.targetOf(request) ?? { gvk: "", namespace: "", name: "", subresource: "" }
    if (!(result instanceof Promise)) return this.#wrote(controller, request, target, result, changes)
    // A webhook is asked: the change comes later, right before the answer.
    this.#asked++
    return result.then((answer) => {
      this.#asked--
      const { name } = placeOf(target, recordOf(request.body), recordOf(answer.text))
      const isOwn = ({ gvk, change }: ObservedChange): boolean =>
        gvk === target.gvk && change.namespace === target.namespace && change.name === name
      const known = this.#asked === 0 ? this.#late : this.#late.filter(isOwn)
      this.#late = this.#late.filter((change) => !known.includes(change))
      return this.#wrote(controller, request, target, answer, known)
    })
  }

  #wrote(
    controller: string,
    request: LocalRequest,
    target: RequestTarget,
    answer: LocalAnswer,
    changes: ReadonlyArray<ObservedChange>,
  ): LocalAnswer {
    if (request.method === "GET") return answer
    const { status, text } = answer
    const own = changes.filter(({ gvk }) => gvk === target.gvk)
    const given = recordOf(request.body)
    if (target.gvk === "v1.Event" && status < 400) this.#noteEvent(controller, given, recordOf(text))
    else {
      const message = status < 400 ? undefined : String(recordOf(text).message ?? text)
      this.#note({
        type: "write",
        controller,
        verb: verbOf(request),
        ...placeOf(target, given, recordOf(text)),
        subresource: target.subresource,
        status,
        ...(message !== undefined && { message }),
        differences: request.method === "DELETE" ? [] : own.flatMap(differencesIn),
      })
    }
    for (const change of changes) if (!own.includes(change)) this.#noteOwn(change)
    return answer
  }

  #collect<Result>(call: () => Result): { readonly result: Result; readonly changes: ReadonlyArray<ObservedChange> } {
    const outer = this.#within
    const changes: ObservedChange[] = []
    this.#within = changes
    try {
      return { result: call(), changes }
    } finally {
      this.#within = outer
    }
  }

  #observe(observed: ObservedChange): void {
    const { gvk, change } = observed
    this.#changes++
    const objects = this.#objects.get(gvk) ?? new Map<string, ObservedChange["change"]>()
    this.#objects.set(gvk, objects)
    const place = `${change.namespace}/${change.name}`
    if (change.type === "DELETED") objects.delete(place)
    else objects.set(place, change)
    const within = this.#within ?? (this.#asked > 0 ? this.#late : undefined)
    if (within === undefined) this.#noteOwn(observed)
    else within.push(observed)
  }

  #noteOwn(observed: ObservedChange): void {
    const { gvk: kind, change } = observed
    const { namespace, name } = change
    const isDeleted = change.type === "DELETED"
    const action = isDeleted ? "deleted" : "changed"
    this.#note({
      type: "sandbox",
      kind,
      namespace,
      name,
      action,
      differences: isDeleted ? [] : differencesIn(observed),
    })
  }

  #noteEvent(controller: string, given: Members, stored: Members): void {
    const about = isRecord(stored.involvedObject) ? stored.involvedObject : {}
    const text = (value: unknown): string => (typeof value === "string" ? value : "")
    this.#note({
      type: "event",
      controller,
      about: {
        kind: `${text(about.apiVersion)}.${text(about.kind)}`,
        namespace: text(about.namespace),
        name: text(about.name),
      },
      eventType: text(stored.type),
      reason: text(stored.reason),
      message: text(given.message ?? stored.message),
    })
  }
}

const parsed = (change: ObservedChange["change"]): StoredObject =>
  JSON.parse(change.line.toString("utf8", change.objectStart, change.objectEnd)) as StoredObject

const differencesIn = ({ change, previous }: ObservedChange): ReadonlyArray<Difference> => {
  if (change.type === "DELETED") return []
  if (previous !== undefined) return differencesOf(parsed(previous), parsed(change))
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = parsed(change) as unknown as Members
  const given = Object.entries(metadata as Members).filter(([member]) => !ofServer.has(member))
  return differencesOf({}, { metadata: Object.fromEntries(given), ...content })
}

/** What the server sets in a new object. */
const ofServer = new Set(["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"])

export const verbs = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete", GET: "update" } as const
const verbOf = ({ method }: LocalRequest) => verbs[method]

/** The name that the server has generated is in its answer. */
const placeOf = ({ gvk: kind, namespace, name }: RequestTarget, given: Members, stored: Members): JournalObject => {
  const nameIn = (object: Members): unknown => (isRecord(object.metadata) ? object.metadata.name : undefined)
  return { kind, namespace, name: name !== "" ? name : String(nameIn(stored) ?? nameIn(given) ?? "") }
}

/** A body as an object; an empty one if it is none. */
export const recordOf = (body: unknown): Members => {
  if (isRecord(body) && !(body instanceof Uint8Array)) return body
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return {}
  try {
    const value: unknown = JSON.parse(Buffer.from(body as string).toString())
    return isRecord(value) ? value : {}
  } catch (cause) {
    // YAML of an apply, or nonsense that the sandbox has refused: its answer says so.
    if (cause instanceof SyntaxError) return {}
    throw cause
  }
}
