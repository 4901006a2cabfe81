/**
 * Writes into the cluster that a replay drives. Each write settles with an outcome and never rejects: one refused object does not stop a
 * replay (SimKube's ends at the first 409, 429 or 500).
 *
 * Guaranteed: a namespace or cluster-scoped object that exists and does not belong to this replay is never changed or deleted; an object
 * that is being deleted is written again once it is gone, since a server accepts writes to it and then drops it.
 */
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import {
  AlreadyExistsError,
  type ApiError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
} from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { ResourceFinder } from "../../kube/client/resource-finder.ts"
import { parseGvk } from "../../kube/gvk.ts"
import type { Kind } from "../../kube/kind.ts"
import { type Ownership, ownMetadata, replayLabel, type TargetPlace } from "../objects/target-object.ts"

/** What happened to one write. */
export type WriteOutcome =
  | {
      readonly tag: "accepted"
      /** Of the object in the target; the empty string after a deletion. */
      readonly uid: string
    }
  /** `code`: the HTTP status, 0 if there was none. `reason`: Kubernetes' reason, or the failure of the connection. */
  | { readonly tag: "refused"; readonly code: number; readonly reason: string; readonly message: string }
  | { readonly tag: "skipped"; readonly reason: string }

/** What to do if another field manager of the target owns a field that the trace sets. */
export type OnConflict = "force" | "skip" | "fail"

export interface TargetOptions {
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

const accepted = (uid = ""): WriteOutcome => ({ tag: "accepted", uid })

export class TargetCluster {
  readonly #options: TargetOptions
  readonly #finder: ResourceFinder

  constructor(options: TargetOptions) {
    this.#options = options
    this.#finder = new ResourceFinder(options.client.connection)
  }

  /** Server-side apply. `body`: JSON. */
  apply(place: TargetPlace, body: string): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const kind = await this.#find(place.gvk)
      // Objects in our own namespaces are ours; a name without a namespace may be someone else's.
      if (place.namespace === "" && !(await this.#isOurs(kind, place))) return notOurs(place)
      const { client, onConflict, signal } = this.#options
      for (;;) {
        const options = { fieldManager, force: onConflict === "force", signal }
        const object = await this.#admitted(() => client.apply<ApiObject>(kind, place, body, options))
        if (object.metadata.deletionTimestamp === undefined) {
          if (kind.gvk.kind === "CustomResourceDefinition") await this.#established(kind, place)
          return accepted(object.metadata.uid)
        }
        await this.#gone(kind, place)
      }
    })
  }

  /** A deletion whose dependents the target's garbage collector deletes. */
  delete(place: TargetPlace): Promise<WriteOutcome> {
    return this.#outcome(async () => {
      const kind = await this.#find(place.gvk)
      if (place.namespace === "" && !(await this.#isOurs(kind, place))) return notOurs(place)
      const { client, signal } = this.#options
      // A deletion is recorded when the object is gone; a pod's grace period was over by then.
      const grace = place.gvk === "v1.Pod" ? { gracePeriodSeconds: 0 } : {}
      try {
        await client.delete(kind, place, { propagationPolicy: "Background", ...grace, signal })
      } catch (error) {
        if (error instanceof NotFoundError) return { tag: "skipped", reason: "did not exist in the target" }
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
        try {
          const object = { apiVersion: "v1", kind: "Namespace", metadata }
          const { metadata: created } = await client.create<ApiObject>(kinds.namespaces, object, {
            fieldManager,
            signal,
          })
          return accepted(created.uid)
        } catch (error) {
          if (!(error instanceof AlreadyExistsError)) throw error
        }
        const existing = await this.#look(kinds.namespaces, place)
        if (existing === undefined) continue
        if (existing.metadata.labels?.[replayLabel] !== own.replay) return notOurs(place)
        if (existing.metadata.deletionTimestamp === undefined) return accepted(existing.metadata.uid)
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
      await new Promise<void>((resolve) => clock.after(lookMs, resolve))
    }
  }

  async #find(gvk: string): Promise<Kind> {
    const parsed = parseGvk(gvk)
    if (parsed === undefined) throw new UnknownKind(`${gvk} is not the name of a kind`)
    try {
      return await this.#finder.find(parsed)
    } catch (error) {
      if (error instanceof NotFoundError) throw new UnknownKind(`the target has no kind ${gvk}`)
      throw error
    }
  }

  async #isOurs(kind: Kind, place: TargetPlace): Promise<boolean> {
    const existing = await this.#look(kind, place)
    return existing === undefined || existing.metadata.labels?.[replayLabel] === this.#options.own.replay
  }

  async #look(kind: Kind, place: TargetPlace): Promise<ApiObject | undefined> {
    try {
      return await this.#options.client.get<ApiObject>(kind, place, { signal: this.#options.signal })
    } catch (error) {
      if (error instanceof NotFoundError) return undefined
      throw error
    }
  }

  #gone(kind: Kind, place: TargetPlace): Promise<void> {
    const condition = async (): Promise<boolean> => {
      const object = await this.#look(kind, place)
      return object?.metadata.deletionTimestamp === undefined
    }
    return this.#until(condition, `${describePlace(place)} is still being deleted`)
  }

  #established(kind: Kind, place: TargetPlace): Promise<void> {
    const condition = async (): Promise<boolean> => {
      const status = (await this.#look(kind, place))?.status
      const conditions = (status as { conditions?: ReadonlyArray<{ type: string; status: string }> })?.conditions ?? []
      return conditions.some((each) => each.type === "Established" && each.status === "True")
    }
    return this.#until(condition, `${describePlace(place)} is not established`)
  }

  async #until(condition: () => Promise<boolean>, complaint: string): Promise<void> {
    const { clock, signal } = this.#options
    const deadline = clock.monotonicMs() + patienceMs
    while (!(await condition())) {
      if (signal.aborted) throw new TargetTooSlow("the replay was interrupted")
      if (clock.monotonicMs() > deadline) throw new TargetTooSlow(`${complaint} after ${patienceMs / 1000} s`)
      await new Promise<void>((resolve) => clock.after(lookMs, resolve))
    }
  }

  async #outcome(write: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
    try {
      return await write()
    } catch (error) {
      if (error instanceof ConflictError && this.#options.onConflict === "skip")
        return { tag: "skipped", reason: "another field manager of the target owns a field" }
      return refusalOf(error)
    }
  }
}

class UnknownKind extends Error {}
class TargetTooSlow extends Error {}

const notOurs = (place: TargetPlace): WriteOutcome => ({
  tag: "refused",
  code: 0,
  reason: "NotOurs",
  message: `${describePlace(place)} exists in the target and does not belong to this replay; choose another --namespace-prefix`,
})

export const describePlace = ({ gvk, namespace, name }: TargetPlace): string =>
  `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`

/** @throws anything that is not an error of the target */
const refusalOf = (error: unknown): WriteOutcome => {
  if (error instanceof UnknownKind) return { tag: "refused", code: 404, reason: "UnknownKind", message: error.message }
  if (error instanceof TargetTooSlow) return { tag: "refused", code: 0, reason: "TooSlow", message: error.message }
  const known = error as ApiError
  switch (known._tag) {
    case "ApiUnreachableError":
      // Whether the server has acted is unknown, and the removal does not depend on it.
      if (known.failure === "aborted") return { tag: "skipped", reason: "the replay ended before the response" }
      return { tag: "refused", code: 0, reason: known.failure, message: known.message }
    case "UnauthorizedError":
    case "ForbiddenError":
    case "NotFoundError":
    case "AlreadyExistsError":
    case "ConflictError":
    case "ExpiredError":
    case "InvalidError":
    case "TooManyRequestsError":
    case "ApiRefusalError":
      return { tag: "refused", code: known.code, reason: known.reason, message: known.message }
    default:
      throw error
  }
}
