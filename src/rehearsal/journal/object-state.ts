/** States of objects, as a rehearsal tells them to whoever compares them. */
import type { ObservedChange } from "../../sandbox/index.ts"

/** A state of one object; without bytes, that there is none. */
export interface ObjectState {
  /** `apps/v1.Deployment`. */
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** JSON. */
  readonly bytes: Uint8Array | undefined
}

/** A state that should be reached. */
export interface ExpectedState extends ObjectState {
  /** False if others than the controllers add to the object, so that it may have more than what is reached. */
  readonly isWhole: boolean
}

/** What a change of the sandbox has left. */
export const stateOf = (
  kind: string,
  { namespace, name, type, line, objectStart, objectEnd }: ObservedChange["change"],
): ObjectState => ({
  ...{ kind, namespace, name },
  bytes: type === "DELETED" ? undefined : line.subarray(objectStart, objectEnd),
})
