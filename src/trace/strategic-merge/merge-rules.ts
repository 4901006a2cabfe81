/** What a strategic merge patch asks the type of the patched object, and how it is refused. */

import * as Schema from "effect/Schema"

/** The rules of an object's members. */
export interface MergeRules {
  /**
   * The rule of a member that both sides have, or whose list the patch puts in order.
   * @throws StrategicMergeError where the type has no such member and that is a mistake of the patch
   */
  of(member: string): MergeRule
}

export interface MergeRule {
  /** `undefined`: objects are merged, lists replaced. */
  readonly strategy: "merge" | "replace" | undefined
  /** The member by which the objects of a merged list are told apart; empty for lists of other values. */
  readonly mergeKey: string
  /** The rules of the object's members, or of the members of the list's items. */
  inside(): MergeRules
}

/** Kubernetes refuses the patch. Quotes no values of it: they may be secret. */
export class StrategicMergeError extends Schema.TaggedError<StrategicMergeError>()("StrategicMergeError", {
  /**
   * How the API server answers: `malformed`, a directive of the wrong form (400); `list-of-lists` (422); `unclassified`, everything
   * else, such as a missing merge key (500).
   */
  reason: Schema.Literals(["malformed", "list-of-lists", "unclassified"]),
  problem: Schema.String,
}) {
  override get message(): string {
    return this.problem
  }
}
