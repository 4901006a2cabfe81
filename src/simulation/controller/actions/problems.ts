/** What an error of a step means for a Simulation: whether another attempt can help, and what a person reads. */
import {
  AlreadyExistsError,
  ApiUnreachableError,
  ConflictError,
  ForbiddenError,
  InvalidError,
  isTerminatingNamespace,
} from "../../../kube/client/api-errors.ts"
import { messageOf } from "../../../message-of.ts"
import type { Problem } from "../state/observation.ts"

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

/** Something is under way; whoever throws this limits the time. */
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
