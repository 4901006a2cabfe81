/**
 * The events in the life of an object that explain what became of it, picked out of the changes of itself and its owners: changes of an owner's spec, creation,
 * scheduling, conditions, containers that ended or wait, deletion, and the Kubernetes Events about it.
 */
import { visible } from "../../recorder/configuration/quoted.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { objectOf } from "./changes-of.ts"
import { differenceLines, managersText, objectName, objectsIn } from "./describe-change.ts"

const member = (value: JsonValue | undefined, ...path: ReadonlyArray<string>): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>(
    (inner, key) => (isJsonObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  )

const textAt = (value: JsonValue | undefined, ...path: ReadonlyArray<string>): string => {
  const found = member(value, ...path)
  return found === undefined || found === null || typeof found === "object" ? "" : String(found)
}

/** Lines between the end of an object and its successor. */
const mostAfterEnd = 500

/** Follows one object and its owners, change by change. */
export class WhyLines {
  readonly #gvk: string
  readonly #timeText: (micros: number) => string
  /** By UID and condition, how it was last told. */
  readonly #told = new Map<string, string>()
  /** UIDs of the objects of the kind that were not deleted yet. */
  readonly #living = new Set<string>()
  #hasEnded = false
  /** What owners did since the last of them ended: it explains the next object of the name, if there is one, and not this one. */
  readonly #afterEnd: string[] = []

  /** `gvk`: the kind of the object that is asked about. `timeText`: how times are written, given µs since the Unix epoch. */
  constructor(gvk: string, timeText: (micros: number) => string) {
    this.#gvk = gvk
    this.#timeText = timeText
  }

  /** The lines for a change; none if it explains nothing. */
  of(change: JsonObject): ReadonlyArray<string> {
    const isOwn = change.gvk === this.#gvk
    const lines = this.#linesOf(change, isOwn)
    if (!isOwn) {
      if (!this.#hasEnded || this.#living.size > 0) return lines
      this.#afterEnd.push(...lines)
      if (this.#afterEnd.length > mostAfterEnd) this.#afterEnd.splice(0, this.#afterEnd.length - mostAfterEnd)
      return []
    }
    const isEnd = change.type === "deleted" || change.type === "vanished"
    if (isEnd) this.#living.delete(String(change.uid))
    else this.#living.add(String(change.uid))
    this.#hasEnded ||= isEnd
    return [...this.#afterEnd.splice(0), ...lines]
  }

  #linesOf(change: JsonObject, isOwn: boolean): ReadonlyArray<string> {
    const object = objectOf(change)
    const facts = isKubernetesEvent(change)
      ? eventFacts(object)
      : isOwn
        ? this.#ownFacts(change, object)
        : ownerFacts(change)
    if (facts.length === 0) return []
    const [first = "", ...others] = facts
    const time = this.#timeText(Number(change.time))
    return [`${time}  ${objectName(change)}  ${first}`, ...others.map((each) => `    ${each.trimStart()}`)].map(visible)
  }

  #ownFacts(change: JsonObject, object: JsonObject): ReadonlyArray<string> {
    const { type } = change
    const by = managersText(change.managers)
    if (type === "vanished") return ["was gone when the kind was listed again"]
    const facts: string[] = []
    if (type === "appeared")
      facts.push(`is first recorded; created ${textAt(object, "metadata", "creationTimestamp")}${by}`)
    const node = textAt(object, "spec", "nodeName")
    if (node !== "" && this.#isNews(change, "node", node)) facts.push(`is scheduled to node ${node}`)
    const phase = textAt(object, "status", "phase")
    if (phase !== "" && this.#isNews(change, "phase", phase)) {
      const reason = ["reason", "message"].map((name) => textAt(object, "status", name)).filter((each) => each !== "")
      facts.push(`phase ${phase}${reason.length === 0 ? "" : `: ${reason.join(": ")}`}`)
    }
    for (const condition of objectsIn(member(object, "status", "conditions"))) {
      const name = textAt(condition, "type")
      const told = ["status", "reason"].map((each) => textAt(condition, each)).join(" ")
      if (!this.#isNews(change, `condition ${name}`, told)) continue
      const why = ["reason", "message"].map((each) => textAt(condition, each)).filter((each) => each !== "")
      facts.push(`condition ${name} is ${textAt(condition, "status")}${why.length === 0 ? "" : `: ${why.join(": ")}`}`)
    }
    for (const status of ["initContainerStatuses", "containerStatuses"])
      for (const container of objectsIn(member(object, "status", status)))
        facts.push(...this.#containerFacts(change, container))
    const deletion = textAt(object, "metadata", "deletionTimestamp")
    if (deletion !== "" && this.#isNews(change, "deletion", deletion))
      facts.push(
        `is being deleted, with ${textAt(object, "metadata", "deletionGracePeriodSeconds") || "no"} s of grace${by}`,
      )
    if (type === "deleted") facts.push("is deleted")
    if (facts.length === 0) facts.push(...specFacts(change))
    return facts
  }

  #containerFacts(change: JsonObject, container: JsonObject): ReadonlyArray<string> {
    const name = textAt(container, "name")
    const facts: string[] = []
    const ended = member(container, "state", "terminated") ?? member(container, "lastState", "terminated")
    if (isJsonObject(ended)) {
      const told = `${textAt(ended, "exitCode")} ${textAt(ended, "finishedAt")}`
      if (this.#isNews(change, `ended ${name}`, told))
        facts.push(
          `container ${name} ended with exit code ${textAt(ended, "exitCode")}: ${textAt(ended, "reason")} ${textAt(ended, "message")}`.trim(),
        )
    }
    const waiting = textAt(container, "state", "waiting", "reason")
    if (waiting !== "" && this.#isNews(change, `waiting ${name}`, waiting))
      facts.push(`container ${name} waits: ${waiting} ${textAt(container, "state", "waiting", "message")}`.trim())
    return facts
  }

  #isNews({ uid }: JsonObject, about: string, told: string): boolean {
    const key = `${uid} ${about}`
    if (this.#told.get(key) === told) return false
    this.#told.set(key, told)
    return true
  }
}

const isKubernetesEvent = ({ gvk }: JsonObject): boolean => gvk === "v1.Event" || gvk === "events.k8s.io/v1.Event"

const eventFacts = (event: JsonObject): ReadonlyArray<string> => {
  const about = member(event, "involvedObject") ?? member(event, "regarding")
  const message = textAt(event, "message") || textAt(event, "note")
  const source = textAt(event, "source", "component") || textAt(event, "reportingComponent")
  return message === "" && textAt(event, "reason") === ""
    ? []
    : [
        `${textAt(event, "type")} ${textAt(event, "reason")} of ${textAt(about, "kind")} ${textAt(about, "name")}: ${message} (${source})`,
      ]
}

/** What users and controllers want is in the spec, and in what is deleted; status follows from it. */
const ownerFacts = (change: JsonObject): ReadonlyArray<string> => {
  if (change.type === "appeared") return [`is first recorded${managersText(change.managers)}`]
  if (change.type === "deleted") return ["is deleted"]
  return change.type === "vanished" ? ["was gone when the kind was listed again"] : specFacts(change)
}

const specFacts = (change: JsonObject): ReadonlyArray<string> => {
  const differences = objectsIn(change.differences).filter(
    ({ path }) => !/^(?:status|metadata\.(?:annotations|managedFields))\b/.test(String(path)),
  )
  if (differences.length === 0) return []
  return [`is changed${managersText(change.managers)}`, ...differenceLines({ differences })]
}
