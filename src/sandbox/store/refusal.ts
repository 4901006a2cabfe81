/** Aborts a write: thrown where an error is found, and sent as the response where the request arrived. */
import * as Schema from "effect/Schema"
import type { Failure } from "../../apiserver/index.ts"

const failureSchema = Schema.declare((value): value is Failure => (value as { type?: unknown })?.type === "failure")

/** `failure` is the whole response. */
export class Refusal extends Schema.TaggedError<Refusal>()("Refusal", { failure: failureSchema }) {
  override get message(): string {
    return this.failure.message
  }
}

/** Throws {@link Refusal}. */
export const refuse = (failure: Failure): never => {
  throw new Refusal({ failure })
}
