/**
 * One object from when the trace first shows it until it is gone: its life, the changes of what is wanted of it, and for a pod what it did
 * (pod-states.ts).
 *
 * Memory: what is wanted of the object, as JSON.
 */
import type { ObjectEvent } from "../../event.ts"
import { eventStatement } from "../../event-statement.ts"
import { differencesBetween } from "../../json/difference.ts"
import {
  formatExactJson,
  type JsonObject,
  type JsonValue,
  parseExactJson,
  withProperty,
} from "../../json/exact-json.ts"
import { memberIn } from "../../json/members.ts"
import { podKind } from "../../pods/pod-lives-kind.ts"
import { Conditions } from "./conditions.ts"
import {
  controllingOwner,
  type LifePlace,
  type LifeSketch,
  type LifeSubject,
  labelOf,
  type Root,
} from "./life-sketch.ts"
import { PodStates } from "./pod-states.ts"
import { givenText } from "./trace-object.ts"

/** Differences that a change lists; a roll-out changes a handful. */
const MOST_DIFFERENCES = 20

/** Members of an object that do not say what is wanted of it. */
const notWanted: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"])

/** What an event says of the object that begins to live with it. */
export const subjectOf = (
  event: ObjectEvent,
  object: JsonObject | undefined,
  { number, existed }: Pick<LifeSubject, "number" | "existed">,
): LifeSubject => ({
  number,
  existed,
  gvk: event.gvk,
  namespace: event.namespace,
  name: event.name,
  uid: event.uid,
  label: labelOf(event),
  owner: object === undefined ? undefined : controllingOwner(object, event.uid),
  created: givenText(memberIn(object, "metadata"), "creationTimestamp"),
  said: eventStatement(event.gvk, object),
})

/** An object that is alive, or that waits for its place. */
export class ObjectLife<Sketch extends LifeSketch> {
  readonly subject: LifeSubject
  readonly sketch: Sketch
  #root: Root | undefined
  #wanted = "{}"
  #isEnding = false
  #node: string | undefined
  #pod: PodStates | undefined
  #conditions: Conditions | undefined

  constructor(subject: LifeSubject, sketch: Sketch) {
    this.subject = subject
    this.sketch = sketch
  }

  /** `undefined` while it is not known. */
  get root(): Root | undefined {
    return this.#root
  }

  /** Its place is known. Call it once. */
  place(place: LifePlace<Sketch>): void {
    this.#root = place.root
    this.sketch.place(place)
  }

  /** Begins the life. Times are µs since the Unix epoch. */
  begin(object: JsonObject | undefined, time: number): void {
    this.sketch.begin(time)
    if (object === undefined) return
    this.#wanted = formatExactJson(wantedOf(object))
    this.#node = nodeOf(object)
    if (this.subject.gvk === podKind) this.#pod = new PodStates(this.sketch, time)
    this.#pod?.observe(object, time)
    this.#conditions = Conditions.of(this.subject.gvk, this.sketch)
    this.#conditions?.observe(object, time)
    this.#observeDeletion(object, time)
  }

  /** Tells what another state of the object shows. Throws what {@link formatExactJson} does. */
  observe(object: JsonObject, time: number): void {
    const wanted = wantedOf(object)
    const text = formatExactJson(wanted)
    if (text !== this.#wanted) this.#observeChange(parseExactJson(this.#wanted), wanted, time)
    this.#wanted = text
    this.#node = nodeOf(object) ?? this.#node
    this.#observeDeletion(object, time)
    this.#pod?.observe(object, time)
    this.#conditions?.observe(object, time)
  }

  /** Ends the life. `how`: why, for people. */
  end(time: number, how: string, object?: JsonObject): void {
    if (object !== undefined) {
      this.#pod?.observe(object, time)
      this.#conditions?.observe(object, time)
    }
    this.sketch.end(time, { how, node: this.#node })
  }

  #observeChange(before: JsonValue, after: JsonObject, time: number): void {
    const differences = differencesBetween(before, after, { maximum: MOST_DIFFERENCES + 1 })
    // The order of members may differ, and no more.
    if (differences.length === 0) return
    this.sketch.changed(time, differences.slice(0, MOST_DIFFERENCES), differences.length > MOST_DIFFERENCES)
  }

  #observeDeletion(object: JsonObject, time: number): void {
    const requested = givenText(memberIn(object, "metadata"), "deletionTimestamp")
    if (requested === undefined || this.#isEnding) return
    this.#isEnding = true
    this.sketch.deletionRequested(time, requested)
  }
}

/** Only pods have one there. */
const nodeOf = (object: JsonObject): string | undefined => givenText(memberIn(object, "spec"), "nodeName")

const wantedOf = (object: JsonObject): JsonObject => {
  let wanted: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(object)) if (!notWanted.has(key)) wanted = withProperty(wanted, key, value)
  return wanted
}
