/**
 * What explains the state of an object, picked out of the changes of itself, of its owners, and of the Events about them: creation, scheduling, phases,
 * conditions, containers that ended, wait or run again, deletion, and what of an owner was changed by hand or by a controller. The words are those of
 * `reel why` and of the page.
 *
 * Total for objects of any structure.
 */

import { conditionMicros, conditionTone, groupAndKind } from "./conditions.ts"
import { listIn, type Members, membersIn, own, textIn } from "./json.ts"
import { type Tone, tones } from "./tile.ts"

export type FactSort = "change" | "condition" | "container" | "event"

/** What a Kubernetes Event says. Every field is empty if the Event does not have it. */
export interface EventStatement {
  /** `Warning` or `Normal`. */
  readonly type: string
  readonly reason: string
  readonly message: string
  /** `Pod web-0` */
  readonly about: string
  /** The program that says it. */
  readonly source: string
}

/** `Warning BackOff of Pod web-0: Back-off restarting failed container (kubelet)` */
export const statementText = ({ type, reason, message, about, source }: EventStatement): string =>
  `${`${type} ${reason}`.trim()} of ${about}: ${message}${source === "" ? "" : ` (${source})`}`

/** One change of one object, in the order in which it was recorded. */
interface ExplainedChange {
  /** `created`, `appeared` (first seen), `changed`, `deleted`, `vanished`. */
  readonly type: string
  readonly gvk: string
  readonly uid: string
  /** µs since the Unix epoch. */
  readonly time: number
  /** Whether the object is the one that is asked about; else it is an owner. */
  readonly isOwn: boolean
  /** The object afterwards, or before its end; of owners it is not needed. */
  readonly state?: unknown
  /** Of a Kubernetes Event. */
  readonly event?: EventStatement
  /** Of the fields that differ. */
  readonly paths: ReadonlyArray<string>
}

/** One thing that happened. */
export interface ExplainingFact {
  /** µs since the Unix epoch: of a condition its own time, which may be before the change that tells it. */
  readonly time: number
  readonly sort: FactSort
  readonly tone: Tone
  readonly text: string
  /** Whether somebody did it, so that one wants to know who; `deletion`: whose author no object names. */
  readonly isWritten: boolean | "deletion"
  /** Whether the fields that differ, without {@link isConsequence}, are what happened. */
  readonly isOfFields: boolean
}

/** Whether a field follows from what is wanted: then that it changed explains nothing. */
export const isConsequence = (path: string): boolean =>
  /^(?:status|metadata\.(?:annotations|managedFields))\b/.test(path)

type Found = Pick<ExplainingFact, "text"> & Partial<ExplainingFact>

const joined = (...texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join(": ")

/** Text, or a number as text; empty: there is neither. */
const wordIn = (value: unknown, name: string): string => {
  const found = own(value, name)
  return found === null || found === undefined || typeof found === "object" ? "" : String(found)
}

/** Follows one object and its owners; says nothing twice. */
export class Explanation {
  /** By UID and what it is about, how it was last told. */
  readonly #told = new Map<string, string>()

  /** What a change tells; empty if it explains nothing. */
  of(change: ExplainedChange): ReadonlyArray<ExplainingFact> {
    const { event, isOwn, time } = change
    const found = event !== undefined ? eventFacts(event) : isOwn ? this.#ownFacts(change) : ownerFacts(change)
    const plain = { time, sort: "change", tone: tones.plain, isWritten: false, isOfFields: false } as const
    return found.map((fact) => ({ ...plain, ...fact }))
  }

  #ownFacts(change: ExplainedChange): ReadonlyArray<Found> {
    const { type, state } = change
    if (type === "vanished") return [endOf(change)]
    const [metadata, spec, status] = ["metadata", "spec", "status"].map((name) => membersIn(state, name))
    const facts: Found[] = []
    const node = wordIn(spec, "nodeName")
    const phase = wordIn(status, "phase")
    const deletion = wordIn(metadata, "deletionTimestamp")
    if (type === "created") facts.push({ text: "is created", isWritten: true })
    const since = wordIn(metadata, "creationTimestamp")
    if (type === "appeared")
      facts.push({ text: `is first seen${since === "" ? "" : `; created ${since}`}`, isWritten: true })
    if (node !== "" && this.#isNews(change, "node", node)) facts.push({ text: `is scheduled to node ${node}` })
    if (phase !== "" && this.#isNews(change, "phase", phase))
      facts.push({
        text: joined(`phase ${phase}`, wordIn(status, "reason"), wordIn(status, "message")),
        tone: phase === "Failed" ? tones.bad : tones.plain,
      })
    facts.push(...this.#conditionFacts(change, status), ...this.#containerFacts(change, status))
    if (deletion !== "" && this.#isNews(change, "deletion", deletion))
      facts.push({
        text: `is being deleted, with ${wordIn(metadata, "deletionGracePeriodSeconds") || "no"} s of grace`,
        ...{ tone: tones.waiting, isWritten: "deletion" },
      })
    if (type === "deleted") facts.push(endOf(change))
    return facts.length === 0 ? wishFacts(change) : facts
  }

  #conditionFacts(change: ExplainedChange, status: Members | undefined): ReadonlyArray<Found> {
    return listIn(status, "conditions").flatMap((condition) => {
      const [name = "", value = "", reason = ""] = ["type", "status", "reason"].map((key) => wordIn(condition, key))
      if (!this.#isNews(change, `condition ${name}`, `${value} ${reason}`)) return []
      return [
        {
          ...{ sort: "condition" as const, tone: conditionTone(groupAndKind(change.gvk), name, value) },
          text: joined(`condition ${name} is ${value}`, reason, wordIn(condition, "message")),
          time: conditionMicros(textIn(condition, "lastTransitionTime"), change.time),
        },
      ]
    })
  }

  #containerFacts(change: ExplainedChange, status: Members | undefined): ReadonlyArray<Found> {
    const containers = ["initContainerStatuses", "containerStatuses"].flatMap((list) => listIn(status, list))
    return containers.flatMap((container) => {
      const name = wordIn(container, "name")
      const facts: Found[] = []
      const tell = (about: string, news: string, text: string, tone: Tone): void => {
        if (this.#isNews(change, `${about} ${name}`, news)) facts.push({ sort: "container", text, tone })
      }
      const state = own(container, "state")
      const ended = membersIn(state, "terminated") ?? membersIn(own(container, "lastState"), "terminated")
      const code = wordIn(ended, "exitCode")
      const end = joined(`container ${name} ended with exit code ${code}`, ...reasonIn(ended))
      if (ended !== undefined)
        tell("ended", `${code} ${wordIn(ended, "finishedAt")}`, end, code === "0" ? tones.over : tones.bad)
      const waiting = own(state, "waiting")
      const [reason = "", message = ""] = reasonIn(waiting)
      const isBad = /BackOff|Err|Invalid/.test(reason)
      const wait = joined(`container ${name} waits`, reason, message)
      if (reason !== "") tell("waiting", reason, wait, isBad ? tones.bad : tones.waiting)
      const restarts = wordIn(container, "restartCount")
      const after =
        restarts === "" || restarts === "0" ? "" : `, after ${restarts} restart${restarts === "1" ? "" : "s"}`
      if (membersIn(state, "running") !== undefined)
        tell("restarts", restarts, `container ${name} runs${after}`, tones.good)
      return facts
    })
  }

  #isNews({ uid }: ExplainedChange, about: string, told: string): boolean {
    const key = `${uid} ${about}`
    if (this.#told.get(key) === told) return false
    this.#told.set(key, told)
    return true
  }
}

const reasonIn = (value: unknown): ReadonlyArray<string> => ["reason", "message"].map((name) => wordIn(value, name))

const eventFacts = (event: EventStatement): ReadonlyArray<Found> => [
  { sort: "event", tone: event.type === "Warning" ? tones.bad : tones.plain, text: statementText(event) },
]

const endOf = ({ type }: ExplainedChange): Found => ({
  text: type === "deleted" ? "is deleted" : "was gone when the kind was listed again",
  ...{ tone: tones.waiting, isWritten: true },
})

/** What users and controllers want is in the spec, and in what is deleted; status follows from it. */
const ownerFacts = (change: ExplainedChange): ReadonlyArray<Found> => {
  const { type } = change
  if (type === "created" || type === "appeared")
    return [{ text: type === "created" ? "is created" : "is first seen", isWritten: true }]
  return type === "deleted" || type === "vanished" ? [endOf(change)] : wishFacts(change)
}

const wishFacts = ({ paths }: ExplainedChange): ReadonlyArray<Found> =>
  paths.every(isConsequence) ? [] : [{ text: "is changed", isWritten: true, isOfFields: true }]
