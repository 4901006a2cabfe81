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
import { isOwnedBy } from "./driver-job.ts"
import type { Problem } from "./state/decide.ts"

/** Why a step was not done, as far as the controller itself can tell. `reason`: one word for programs; the message says what to do. */
abstract class NotDone extends Error {
  readonly reason: string
  abstract readonly kind: Problem["kind"]

  constructor(reason: string, message: string) {
    super(message)
    this.reason = reason
  }
}

/** A mistake in the Simulation or the cluster that no other attempt mends. */
export class Mistake extends NotDone {
  readonly kind = "permanent"
}

/** Something stands in the way that someone has to remove, or that passes. */
export class Obstacle extends NotDone {
  readonly kind = "transient"
}

/** Something is under way; the code that throws this limits the time. */
export class Awaited extends NotDone {
  readonly kind = "awaited"
}

/** `undefined`: not worth a word, because the next attempt sees a newer state, or the controller has to stop. */
export const problemOf = (error: unknown): Problem | undefined => {
  if (error instanceof NotDone) return { reason: error.reason, message: error.message, kind: error.kind }
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

/** What is there already must belong to the same owner: rejects with {@link Obstacle} otherwise. */
export const createOwn = async <T extends ObjectBase = ApiObject>(
  cluster: ControllerCluster,
  owner: ObjectBase,
  object: NewObject,
): Promise<T> => {
  const { name = "", namespace } = object.metadata
  try {
    return await cluster.create<T>(object)
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
  }
  const present = await cluster.getLive<T>(`${object.apiVersion}.${object.kind}`, { name, namespace })
  if (isOwnedBy(present, owner)) return present
  const place = namespace === undefined ? name : `${namespace}/${name}`
  throw new Obstacle("NameTaken", `the ${object.kind} ${place} belongs to something else; delete it`)
}

/** What is there already is taken as it is. */
export const createShared = async (cluster: ControllerCluster, object: NewObject): Promise<void> => {
  try {
    await cluster.create(object)
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
  }
}

/** Whether the name is taken, found out without the right to read the object. */
export const isNameTaken = async (cluster: ControllerCluster, object: ObjectBase): Promise<boolean> => {
  const kind = await cluster.kind(`${object.apiVersion}.${object.kind}`)
  try {
    await cluster.api.create(kind, object, { dryRun: true, isRepeatable: true, signal: cluster.signal })
    return false
  } catch (error) {
    if (error instanceof AlreadyExistsError) return true
    throw error
  }
}
