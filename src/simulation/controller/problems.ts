/** What an error of a step means for a Simulation: whether another attempt can help, and what a person reads. */

import type { ControllerCluster, NewObject } from "../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  ApiUnreachableError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  isTerminatingNamespace,
  type ObjectBase,
} from "../../kube/index.ts"
import { messageOf } from "../../message-of.ts"
import { unlessExists } from "../target/target-cluster.ts"
import { isOwnedBy } from "./driver-job.ts"
import type { Problem } from "./state/decide.ts"

/**
 * Why a step was not done, as far as the controller itself can tell; the message says what to do. `permanent`: a mistake in the Simulation or the
 * cluster. `transient`: something stands in the way that someone has to remove, or that passes. `awaited`: the code that throws it limits the time.
 */
export class NotDone extends Error implements Problem {
  readonly kind: Problem["kind"]
  readonly reason: string

  constructor(kind: Problem["kind"], reason: string, message: string) {
    super(message)
    this.kind = kind
    this.reason = reason
  }
}

/** `undefined`: not worth a word, because the next attempt sees a newer state, or the controller has to stop. */
export const problemOf = (error: unknown): Problem | undefined => {
  if (error instanceof NotDone) return error
  if (error instanceof ConflictError) return undefined
  // A creation that was overtaken: by an earlier one whose response was lost, or by another process.
  if (error instanceof AlreadyExistsError) return undefined
  if (error instanceof ApiUnreachableError && error.failure === "aborted") return undefined
  const message = messageOf(error)
  if (error instanceof InvalidError) return { reason: "Refused", message, kind: "permanent" }
  if (isTerminatingNamespace(error)) return { reason: "NamespaceTerminating", message, kind: "transient" }
  if (error instanceof ForbiddenError)
    return { reason: "Forbidden", message: `${message}; grant the controller the right`, kind: "transient" }
  return { reason: "RequestFailed", message, kind: "transient" }
}

// Creating an object that may be there already: from an earlier attempt, whose controller died or never got the response.

/** What is there already must belong to the same owner: rejects with {@link NotDone} otherwise. */
export const createOwn = async <T extends ObjectBase = ApiObject>(
  cluster: ControllerCluster,
  owner: ObjectBase,
  object: NewObject,
): Promise<T> => {
  const { name = "", namespace } = object.metadata
  const created = await unlessExists(cluster.create<T>(object))
  if (created !== undefined) return created
  const present = await cluster.getLive<T>(`${object.apiVersion}.${object.kind}`, { name, namespace })
  if (isOwnedBy(present, owner)) return present
  const place = namespace === undefined ? name : `${namespace}/${name}`
  throw new NotDone("transient", "NameTaken", `the ${object.kind} ${place} belongs to something else; delete it`)
}

/** What is there already is taken as it is. */
export const createShared = async (cluster: ControllerCluster, object: NewObject): Promise<void> =>
  void (await unlessExists(cluster.create(object)))

/** Whether the name is taken, found out without the right to read the object. */
export const isNameTaken = async (cluster: ControllerCluster, object: ObjectBase): Promise<boolean> => {
  const kind = await cluster.kind(`${object.apiVersion}.${object.kind}`)
  const options = { dryRun: true, isRepeatable: true, signal: cluster.signal }
  return (await unlessExists(cluster.api.create(kind, object, options))) === undefined
}
