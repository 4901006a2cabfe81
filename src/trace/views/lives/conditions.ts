/**
 * The conditions of an object by which Kubernetes says that something is wrong: a node that is not ready, a roll-out
 * that does not progress, a job that failed. Most conditions are part of every life, such as those of a pod that
 * starts, and are not reported.
 *
 * Total: what is not as Kubernetes writes it counts as absent.
 */
import { conditionMicros, wrongStatusesOf } from "../../../timeline/index.ts"
import type { JsonObject } from "../../json/exact-json.ts"
import { memberIn, objectsIn } from "../../json/members.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import type { LifeSketch } from "./life-sketch.ts"
import { givenText } from "./trace-object.ts"

/** A condition that is wrong, or no longer. */
export interface ToldCondition {
  /** `Ready`. */
  readonly type: string
  /** `Ready: Unknown (NodeStatusUnknown)`. */
  readonly name: string
  readonly message: string | undefined
  readonly isWrong: boolean
}

/** Follows the conditions of one object. */
export class Conditions {
  readonly #sketch: Pick<LifeSketch, "condition">
  readonly #wrongWith: Readonly<Record<string, ReadonlyArray<string>>>
  /** The names of those that are wrong, by type. */
  readonly #wrong = new Map<string, string>()
  /** When the state before was seen, µs. */
  #seen: number | undefined

  /** `undefined`: none of the conditions of that kind is reported. */
  static of(gvk: string, sketch: Pick<LifeSketch, "condition">): Conditions | undefined {
    const wrong = wrongStatusesOf(groupKindOf(gvk))
    return wrong === undefined ? undefined : new Conditions(sketch, wrong)
  }

  private constructor(sketch: Pick<LifeSketch, "condition">, wrong: Readonly<Record<string, ReadonlyArray<string>>>) {
    this.#sketch = sketch
    this.#wrongWith = wrong
  }

  /**
   * Tells the sketch which conditions of a state, seen at `time`, became wrong, and which are so no longer: since their own transition, if that is
   * between the state before and this one, because not every recording has each state.
   */
  observe(object: JsonObject, time: number): void {
    const before = this.#seen ?? time
    this.#seen = time
    const conditions = objectsIn(memberIn(object, "status"), "conditions")
    for (const [type, wrong] of Object.entries(this.#wrongWith)) {
      const condition = conditions.find((each) => givenText(each, "type") === type)
      const [status, reason] = [givenText(condition, "status"), givenText(condition, "reason")]
      // An object without its status says nothing of it.
      if (status === undefined) continue
      const name = `${type}: ${status}${reason === undefined ? "" : ` (${reason})`}`
      const isWrong = wrong.includes(status)
      if (this.#wrong.get(type) === (isWrong ? name : undefined)) continue
      if (isWrong) this.#wrong.set(type, name)
      else this.#wrong.delete(type)
      const since = Math.max(before, conditionMicros(givenText(condition, "lastTransitionTime"), time))
      this.#sketch.condition(since, { type, name, message: givenText(condition, "message"), isWrong })
    }
  }
}
