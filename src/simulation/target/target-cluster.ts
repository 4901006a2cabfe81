/**
 * Writes into the cluster that a replay drives; each write settles with an outcome and never rejects. A namespace or
 * cluster-scoped object that does not belong to this replay is never changed. An object that is being deleted is
 * written again once it is gone: a server accepts writes to it and then drops it.
 */
import type { Clock } from "../../clock.ts"
import {
  AlreadyExistsError,
  type ApiClient,
  type ApiError,
  type ApiObject,
  ApiUnreachableError,
  ConflictError,
  ForbiddenError,
  type Kind,
  kinds,
  NotFoundError,
  pause,
  ResourceFinder,
  unlessNotFound,
} from "../../kube/index.ts"
import { parseGvk } from "../../kube/offline.ts"
import { hasPrescribedName } from "../../trace/index.ts"
import { type Ownership, ownMetadata, replayLabel, type TargetPlace } from "../objects/target-object.ts"

/** What happened to one write. */
export type WriteOutcome =
  | {
      readonly tag: "accepted"
      /** UID and resourceVersion of the object in the target; the empty string after a deletion. */
      readonly uid: string
      readonly version: string
    }
  | {
      readonly tag: "refused"
      /** The HTTP status, 0 if there was none. */
      readonly code: number
      /** Kubernetes' reason, the failure of the connection, or our own for what is not sent. */
      readonly reason: string
      readonly message: string
      /** Whether the write itself was sent. */
      readonly isSent: boolean
    }
  | { readonly tag: "skipped"; readonly reason: string }

/** What to do if another field manager of the target owns a field that the trace sets. */
export type OnConflict = "force" | "skip" | "fail"

/** The same for every write of a replay. `signal` ends requests and waiting. */
interface TargetOptions {
  /** Its retry policy decides what is repeated, and how often. */
  readonly client: ApiClient
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly own: Ownership
  readonly onConflict: OnConflict
  readonly signal: AbortSignal
}

/** The owner of the written fields; SimKube's is `simkube`. */
export const fieldManager = "kubereel"

/** ms that a deletion or the start of a custom kind may take in the target. */
const patienceMs = 120_000
/** ms that a priority class may take to reach admission, which reads it from a cache: usually below 100. */
const admissionMs = 1_000
const unknownToAdmission = /no PriorityClass with name/
/** ms between two looks at something that is waited for. */
const lookMs = 200

const accepted = ({ uid = "", resourceVersion = "" }: Partial<ApiObject["metadata"]> = {}): WriteOutcome => ({
  tag: "accepted",
  uid,
  version: resourceVersion,
})

/** Writes single objects. Methods resolve with what the target did, also if that is a refusal; they reject only with defects. */
export class TargetCluster {
  readonly #options: TargetOptions
  readonly #finder: ResourceFinder

  constructor(options: TargetOptions) {
    this.#options = options
    this.#finder = new ResourceFinder(options.client.connection, { signal: options.signal })
  }

  /** Server-side apply. `body`: JSON. `sending` is called just before the write is sent, for the first time only. */
  apply(place: TargetPlace, body: string, sending: () => void): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const kind = await this.#find(place)
      // Objects in our own namespaces are ours; a name without a namespace may be someone else's.
      if (place.namespace === "" && !(await this.#isOurs(kind, place)))
        return hasPrescribedName(place.gvk) ? { tag: "skipped", reason: existsReason } : notOurs(place)
      sending()
      const { client, onConflict, signal } = this.#options
      for (;;) {
        const options = { fieldManager, force: onConflict === "force", signal }
        const object = await this.#admitted(() => client.apply<ApiObject>(kind, place, body, options))
        if (object.metadata.deletionTimestamp === undefined) {
          if (isDefinition(kind)) await this.#established(kind, place, body)
          return accepted(object.metadata)
        }
        await this.#gone(kind, place)
      }
    })
  }

  /**
   * Sets the status of an object that was accepted before, by server-side apply; takes fields of other managers over. Skipped for a kind
   * without that subresource.
   */
  applyStatus(place: TargetPlace, body: string): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const kind = await this.#find(place)
      const { client, signal } = this.#options
      const options = { fieldManager, force: true, subresource: "status", signal }
      const object = await unlessNotFound(client.apply<ApiObject>(kind, place, body, options))
      return object === undefined
        ? { tag: "skipped", reason: "has no status of its own in the target" }
        : accepted(object.metadata)
    })
  }

  /** A deletion whose dependents the target's garbage collector deletes. */
  delete(place: TargetPlace, sending: () => void): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const kind = await this.#find(place)
      if (place.namespace === "" && !(await this.#isOurs(kind, place)))
        return hasPrescribedName(place.gvk) ? { tag: "skipped", reason: existsReason } : notOurs(place)
      sending()
      const { client, signal } = this.#options
      // A deletion is recorded when the object is gone; a pod's grace period was over by then.
      const grace = place.gvk === "v1.Pod" ? { gracePeriodSeconds: 0 } : {}
      try {
        await client.delete(kind, place, { propagationPolicy: "Background", ...grace, signal })
      } catch (error) {
        if (error instanceof NotFoundError) return { tag: "skipped", reason: absentReason }
        throw error
      }
      return accepted()
    })
  }

  /** Creates a namespace of the replay, once it is gone if it is being deleted. */
  createNamespace(name: string): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const { client, own, signal } = this.#options
      const place = { gvk: "v1.Namespace", namespace: "", name }
      const metadata = { name, ...ownMetadata(own) }
      for (;;) {
        const object = { apiVersion: "v1", kind: "Namespace", metadata }
        const created = await unlessExists(client.create<ApiObject>(kinds.namespaces, object, { fieldManager, signal }))
        if (created !== undefined) return accepted(created.metadata)
        const existing = await this.#look(kinds.namespaces, place)
        if (existing === undefined) continue
        if (existing.metadata.labels?.[replayLabel] !== own.replay) return notOurs(place)
        if (existing.metadata.deletionTimestamp === undefined) return accepted(existing.metadata)
        await this.#gone(kinds.namespaces, place)
      }
    })
  }

  /** Repeats a write that admission rejects because its cache does not have an object yet that was written before. */
  async #admitted(write: () => Promise<ApiObject>): Promise<ApiObject> {
    const { clock, signal } = this.#options
    for (const deadline = clock.monotonicMs() + admissionMs; ; ) {
      try {
        return await write()
      } catch (error) {
        const isEarly = error instanceof ForbiddenError && unknownToAdmission.test(error.detail)
        if (!isEarly || signal.aborted || clock.monotonicMs() > deadline) throw error
      }
      await pause(clock, lookMs, signal)
    }
  }

  async #find({ gvk, namespace }: TargetPlace): Promise<Kind> {
    const parsed = parseGvk(gvk)
    if (parsed === undefined) throw new UnknownKind(`${gvk} is not the name of a kind`)
    const kind = await unlessNotFound(this.#finder.find(parsed))
    if (kind === undefined) throw new UnknownKind(`the target has no kind ${gvk}`)
    // Otherwise the namespace would be ignored, and an object of someone else written.
    if (kind.namespaced === (namespace !== "")) return kind
    throw new UnknownKind(
      `${gvk} is ${kind.namespaced ? "namespaced" : "cluster-scoped"} in the target, unlike in the trace`,
    )
  }

  async #isOurs(kind: Kind, place: TargetPlace): Promise<boolean> {
    const existing = await this.#look(kind, place)
    return existing === undefined || existing.metadata.labels?.[replayLabel] === this.#options.own.replay
  }

  #look(kind: Kind, place: TargetPlace): Promise<ApiObject | undefined> {
    return unlessNotFound(this.#options.client.get<ApiObject>(kind, place, { signal: this.#options.signal }))
  }

  #gone(kind: Kind, place: TargetPlace): Promise<void> {
    const condition = async (): Promise<boolean> => {
      const object = await this.#look(kind, place)
      return object?.metadata.deletionTimestamp === undefined
    }
    return this.#until(condition, `${describePlace(place)} is still being deleted`)
  }

  /** The kind can be found and written: the condition alone comes before discovery. */
  #established(kind: Kind, place: TargetPlace, body: string): Promise<void> {
    const { spec }: { readonly spec?: DefinitionSpec } = JSON.parse(body)
    const served = spec?.versions?.find((version) => version.served === true)
    const gvk = { group: spec?.group ?? "", version: served?.name ?? "", kind: spec?.names?.kind ?? "" }
    const isFound = async (): Promise<boolean> => (await unlessNotFound(this.#finder.find(gvk))) !== undefined
    const condition = async (): Promise<boolean> => {
      const status = (await this.#look(kind, place))?.status
      const conditions = (status as { conditions?: ReadonlyArray<{ type: string; status: string }> })?.conditions ?? []
      const isEstablished = conditions.some((each) => each.type === "Established" && each.status === "True")
      return isEstablished && (served === undefined || (await isFound()))
    }
    return this.#until(condition, `${describePlace(place)} is not established`)
  }

  async #until(condition: () => Promise<boolean>, complaint: string): Promise<void> {
    const { clock, signal } = this.#options
    const deadline = clock.monotonicMs() + patienceMs
    while (!(await condition())) {
      if (signal.aborted) throw new TargetTooSlow("the replay was interrupted")
      if (clock.monotonicMs() > deadline) throw new TargetTooSlow(`${complaint} after ${patienceMs / 1000} s`)
      await pause(clock, lookMs, signal)
    }
  }

  async #outcome(write: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
    try {
      return await write()
    } catch (error) {
      if (isFieldConflict(error) && this.#options.onConflict === "skip")
        return { tag: "skipped", reason: "another field manager of the target owns a field" }
      // Also while it waited for another attempt. Whether the server has acted is unknown, and the removal does not depend on it.
      if (this.#options.signal.aborted && error instanceof ApiUnreachableError)
        return { tag: "skipped", reason: "the replay ended before the response" }
      return refusalOf(error)
    }
  }
}

class UnknownKind extends Error {}
class TargetTooSlow extends Error {}

/** The reason of a refusal that stays: what exists belongs to someone else. */
export const notOursReason = "NotOurs"

interface DefinitionSpec {
  readonly group?: string
  readonly names?: { readonly kind?: string }
  readonly versions?: ReadonlyArray<{ readonly name?: string; readonly served?: boolean }>
}

/** Nothing is written: a name that is prescribed says what the object is, so one that exists serves as well. */
export const existsReason = "exists in the target"
/** A deletion had nothing to delete. */
export const absentReason = "did not exist in the target"

const isDefinition = ({ gvk }: Kind): boolean => gvk.kind === "CustomResourceDefinition"

/** Another field manager owns a field; any other conflict is about the moment, and can be repeated. */
export const isFieldConflict = (error: unknown): boolean =>
  error instanceof ConflictError && error.causes.some(({ reason }) => reason === "FieldManagerConflict")

const notOurs = (place: TargetPlace): WriteOutcome => ({
  tag: "refused",
  code: 0,
  reason: notOursReason,
  isSent: false,
  message: `${describePlace(place)} exists in the target and does not belong to this replay; choose another --namespace-prefix`,
})

/** `v1.Pod shop/web`, for people. */
const describePlace = ({ gvk, namespace, name }: TargetPlace): string =>
  `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`

/** @throws anything that is not an error of the target */
const refusalOf = (error: unknown): WriteOutcome => {
  if (error instanceof UnknownKind)
    return { tag: "refused", code: 404, reason: "UnknownKind", message: error.message, isSent: false }
  if (error instanceof TargetTooSlow)
    return { tag: "refused", code: 0, reason: "TooSlow", message: error.message, isSent: true }
  const known = error as ApiError
  switch (known._tag) {
    case "ApiUnreachableError":
      return { tag: "refused", code: 0, reason: known.failure, message: known.message, isSent: true }
    case "UnauthorizedError":
    case "ForbiddenError":
    case "NotFoundError":
    case "AlreadyExistsError":
    case "ConflictError":
    case "ExpiredError":
    case "InvalidError":
    case "TooManyRequestsError":
    case "ApiRefusalError":
      return { tag: "refused", code: known.code, reason: known.reason, message: known.message, isSent: true }
    default:
      throw error
  }
}

/** `undefined` if there is such an object already: also because the creation was repeated after its response was lost. */
export const unlessExists = async <T>(creation: Promise<T>): Promise<T | undefined> => {
  try {
    return await creation
  } catch (error) {
    if (error instanceof AlreadyExistsError) return undefined
    throw error
  }
}
