/**
 * The events in the life of an object that explain what became of it, picked out of the changes of itself and its owners: changes of an owner's spec, creation,
 * scheduling, conditions, containers that ended or wait, deletion, and the Kubernetes Events about it.
 */
import { visible } from "../../text/index.ts"
import { conditionMicros, eventKinds, isJsonObject, type JsonObject, type JsonValue } from "../../trace/index.ts"
import { objectOf } from "./changes-of.ts"
import { differenceLines, eventText, objectName, objectsIn, writersText } from "./describe-change.ts"

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

/** A fact that is older than the change which tells it. */
interface EarlierFact {
  readonly micros: number
  readonly fact: string
}

/** Follows one object and its owners, change by change. */
export class WhyLines {
  readonly #gvk: string
  readonly #timeText: (micros: number) => string
  /** By UID and condition, how it was last reported. */
  readonly #told = new Map<string, string>()
  /** UIDs of the objects of the kind that were not deleted yet. */
  readonly #living = new Set<string>()
  #hasEnded = false
  /** What owners did since the last of them ended: it explains the next object of the name, if there is one, and not this one. */
  readonly #afterEnd: string[] = []
  /** Of the change that is looked at. */
  readonly #earlier: Array<EarlierFact> = []

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
    const facts = eventKinds.includes(String(change.gvk))
      ? [eventText(change)].filter((each) => each !== "")
      : isOwn
        ? this.#ownFacts(change, object)
        : ownerFacts(change)
    const earlier = this.#earlier.splice(0).toSorted((one, other) => one.micros - other.micros)
    const lines = earlier.map(({ micros, fact }) => this.#line(change, micros, fact))
    const [first, ...others] = facts
    if (first !== undefined) lines.push(this.#line(change, Number(change.time), first))
    return [...lines, ...others.map((each) => `    ${each.trimStart()}`)].map(visible)
  }

  #line(change: JsonObject, micros: number, fact: string): string {
    return `${this.#timeText(micros)}  ${objectName(change)}  ${fact}`
  }

  #ownFacts(change: JsonObject, object: JsonObject): ReadonlyArray<string> {
    const { type } = change
    if (type === "vanished") return [goneFact(change)]
    const facts: string[] = []
    if (type === "created") facts.push(`is created${writersText(change)}`)
    if (type === "appeared")
      facts.push(`is first seen; created ${textAt(object, "metadata", "creationTimestamp")}${writersText(change)}`)
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
      const fact = `condition ${name} is ${textAt(condition, "status")}${why.length === 0 ? "" : `: ${why.join(": ")}`}`
      const time = Number(change.time)
      const micros = conditionMicros(textAt(condition, "lastTransitionTime"), time)
      if (micros < time) this.#earlier.push({ micros, fact })
      else facts.push(fact)
    }
    for (const status of ["initContainerStatuses", "containerStatuses"])
      for (const container of objectsIn(member(object, "status", status)))
        facts.push(...this.#containerFacts(change, container))
    const deletion = textAt(object, "metadata", "deletionTimestamp")
    if (deletion !== "" && this.#isNews(change, "deletion", deletion))
      facts.push(
        `is being deleted, with ${textAt(object, "metadata", "deletionGracePeriodSeconds") || "no"} s of grace  by ?`,
      )
    if (type === "deleted") facts.push(goneFact(change))
    if (facts.length === 0 && this.#earlier.length === 0) facts.push(...specFacts(change))
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

/** What users and controllers want is in the spec, and in what is deleted; status follows from it. */
const ownerFacts = (change: JsonObject): ReadonlyArray<string> => {
  if (change.type === "created") return [`is created${writersText(change)}`]
  if (change.type === "appeared") return [`is first seen${writersText(change)}`]
  return change.type === "deleted" || change.type === "vanished" ? [goneFact(change)] : specFacts(change)
}

const goneFact = (change: JsonObject): string =>
  `${change.type === "deleted" ? "is deleted" : "was gone when the kind was listed again"}${writersText(change)}`

const specFacts = (change: JsonObject): ReadonlyArray<string> => {
  const differences = objectsIn(change.differences).filter(
    ({ path }) => !/^(?:status|metadata\.(?:annotations|managedFields))\b/.test(String(path)),
  )
  if (differences.length === 0) return []
  return [`is changed${writersText(change)}`, ...differenceLines({ differences })]
}
