/**
 * What explains the state of an object, out of the changes of itself, of its owners, and of Events about it: creation, scheduling, conditions, containers that
 * ended or wait, deletion, and changes of what owners want. The same judgement as `reel why`.
 */

import { healthOf, type LaneObject, type Tone, tones } from "../../timeline/index.ts"
import type { FieldChange, ObjectChange } from "../source/source.ts"
import { kindOf } from "../text/shown-text.ts"
import { changeWord } from "./field-text.ts"

export type FactSort = "change" | "condition" | "container" | "event"

/** One thing that happened. */
export interface Fact {
  readonly time: number
  readonly sort: FactSort
  readonly tone: Tone
  readonly text: string
  readonly object: LaneObject
  /** Whether it is of the object that is asked about, or of an Event about it. */
  readonly isOwn: boolean
  readonly change: ObjectChange
  readonly fields: ReadonlyArray<FieldChange>
}

type Members = Readonly<Record<string, unknown>>

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((inner, key) => (isMembers(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined), value)

const textAt = (value: unknown, ...path: ReadonlyArray<string>): string => {
  const found = at(value, ...path)
  return typeof found === "string" || typeof found === "number" ? String(found) : ""
}

const listAt = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<Members> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found.filter(isMembers) : []
}

const joined = (...texts: ReadonlyArray<string>): string => texts.filter((text) => text !== "").join(": ")

/** In order of time. `changes` are in the order in which they were recorded, with the states of the object. */
export const factsOf = (object: Pick<LaneObject, "gvk">, changes: Iterable<ObjectChange>): ReadonlyArray<Fact> => {
  const told = new Map<string, string>()
  const facts: Fact[] = []
  for (const change of changes) {
    const isNews = (about: string, news: string): boolean => {
      const key = `${change.object.uid} ${about}`
      if (told.get(key) === news) return false
      told.set(key, news)
      return true
    }
    const isOwn = change.object.gvk === object.gvk
    const found =
      change.event !== undefined ? eventFacts(change) : isOwn ? ownFacts(change, isNews) : ownerFacts(change)
    for (const fact of found)
      facts.push({
        ...{ time: change.time, sort: "change", tone: tones.plain, object: change.object, fields: [], change },
        ...{ isOwn: isOwn || change.event !== undefined },
        ...fact,
      })
  }
  return facts.sort((one, other) => one.time - other.time)
}

type Found = Pick<Fact, "text"> & Partial<Fact>
type IsNews = (about: string, news: string) => boolean

const eventFacts = ({ event }: ObjectChange): ReadonlyArray<Found> =>
  event === undefined
    ? []
    : [
        {
          sort: "event",
          tone: event.type === "Warning" ? tones.bad : tones.plain,
          text: `${joined(event.reason, event.message)}${event.source === "" ? "" : ` (${event.source})`}`,
        },
      ]

const endOf = (change: ObjectChange): Found => ({
  text: change.type === "deleted" ? "is deleted" : "was gone when the kind was listed again",
  tone: tones.waiting,
})

/** What users and controllers want is in the spec, and in what is deleted; status follows from it. */
const ownerFacts = (change: ObjectChange): ReadonlyArray<Found> => {
  if (change.type === "created" || change.type === "appeared") return [{ text: `is ${changeWord(change)}` }]
  return change.type === "deleted" || change.type === "vanished" ? [endOf(change)] : wishFacts(change)
}

const wishFacts = ({ differences }: ObjectChange): ReadonlyArray<Found> => {
  const fields = differences.filter(({ path }) => !/^(?:status|metadata\.(?:annotations|managedFields))\b/.test(path))
  return fields.length === 0 ? [] : [{ text: "is changed", fields }]
}

const ownFacts = (change: ObjectChange, isNews: IsNews): ReadonlyArray<Found> => {
  const { type, state } = change
  if (type === "vanished") return [endOf(change)]
  const facts: Found[] = []
  if (type === "created" || type === "appeared") facts.push({ text: `is ${changeWord(change)}` })
  const node = textAt(state, "spec", "nodeName")
  if (node !== "" && isNews("node", node)) facts.push({ text: `is scheduled to node ${node}` })
  const phase = textAt(state, "status", "phase")
  if (phase !== "" && isNews("phase", phase)) {
    const text = joined(`phase ${phase}`, textAt(state, "status", "reason"), textAt(state, "status", "message"))
    facts.push({ text, tone: phase === "Failed" ? tones.bad : tones.plain })
  }
  facts.push(...conditionFacts(change, isNews), ...containerFacts(state, isNews))
  const deletion = textAt(state, "metadata", "deletionTimestamp")
  if (deletion !== "" && isNews("deletion", deletion)) {
    const grace = textAt(state, "metadata", "deletionGracePeriodSeconds") || "no"
    facts.push({ text: `is being deleted, with ${grace} s of grace`, tone: tones.waiting })
  }
  if (type === "deleted") facts.push(endOf(change))
  return facts.length === 0 ? wishFacts(change) : facts
}

/** A condition may have changed before the change that tells of it; Kubernetes writes whole seconds. */
const conditionFacts = ({ state, time }: ObjectChange, isNews: IsNews): ReadonlyArray<Found> =>
  listAt(state, "status", "conditions").flatMap((condition) => {
    const [name, status, reason] = ["type", "status", "reason"].map((key) => textAt(condition, key))
    if (!isNews(`condition ${name}`, `${status} ${reason}`)) return []
    const since = Date.parse(textAt(condition, "lastTransitionTime")) * 1000
    const isEarlier = since + 1_000_000 < time
    const text = joined(`condition ${name} is ${status}`, reason ?? "", textAt(condition, "message"))
    return [
      { sort: "condition" as const, text, tone: toneOf(name ?? "", status ?? ""), time: isEarlier ? since : time },
    ]
  })

/** Of conditions whose name says that something is wrong, `True` is bad. */
const toneOf = (name: string, status: string): Tone => {
  if (status !== "True" && status !== "False") return tones.waiting
  return /Pressure$|Failure$|^Failed$|Unavailable$/.test(name) === (status === "True") ? tones.bad : tones.good
}

const containerFacts = (state: unknown, isNews: IsNews): ReadonlyArray<Found> =>
  ["initContainerStatuses", "containerStatuses"].flatMap((list) =>
    listAt(state, "status", list).flatMap((container) => {
      const name = textAt(container, "name")
      const facts: Found[] = []
      const ended = at(container, "state", "terminated") ?? at(container, "lastState", "terminated")
      const code = textAt(ended, "exitCode")
      if (isMembers(ended) && isNews(`ended ${name}`, `${code} ${textAt(ended, "finishedAt")}`)) {
        const text = joined(
          `container ${name} ended with exit code ${code}`,
          textAt(ended, "reason"),
          textAt(ended, "message"),
        )
        facts.push({ sort: "container", text, tone: code === "0" ? tones.over : tones.bad })
      }
      const waiting = textAt(container, "state", "waiting", "reason")
      const message = textAt(container, "state", "waiting", "message")
      const isBad = /BackOff|Err|Invalid/.test(waiting)
      if (waiting !== "" && isNews(`waiting ${name}`, waiting))
        facts.push({
          ...{ sort: "container", text: joined(`container ${name} waits`, waiting, message) },
          tone: isBad ? tones.bad : tones.waiting,
        })
      const restarts = textAt(container, "restartCount")
      const started = textAt(container, "state", "running", "startedAt")
      if (waiting === "" && started !== "" && isNews(`restarts ${name}`, restarts))
        facts.push({
          ...{
            sort: "container",
            text: `container ${name} runs${restarts === "0" ? "" : `, started ${restarts} times again`}`,
          },
          tone: tones.good,
        })
      return facts
    }),
  )

/** How it is at a moment, and since when; what went before it of what its owners want. Sentences for the head of the pane. */
export const sentences = (
  object: LaneObject,
  state: Members | undefined,
  facts: ReadonlyArray<Fact>,
  time: number,
): ReadonlyArray<{ readonly text: string; readonly tone: Tone; readonly fact?: Fact }> => {
  const until = facts.filter((fact) => fact.time <= time)
  const kind = kindOf(object.gvk)
  if (state === undefined) {
    const end = until.findLast(
      ({ isOwn, change }) => isOwn && (change.type === "deleted" || change.type === "vanished"),
    )
    return [{ text: `The ${kind} does not exist.`, tone: tones.absent, ...(end && { fact: end }) }]
  }
  const { tone, wrong } = healthOf(object.gvk, state)
  if (wrong === undefined || tone === tones.good) {
    const text = tone === tones.good ? `The ${kind} is well.` : tone === tones.bad ? `The ${kind} is not ready.` : ""
    return text === "" ? [] : [{ text, tone }]
  }
  const bad = until.filter((fact) => fact.isOwn && fact.tone === tones.bad)
  const lastGood = until.findLast((fact) => fact.isOwn && fact.tone === tones.good)
  const first = bad.find((fact) => fact.time > (lastGood?.time ?? 0)) ?? bad[0]
  const cause = until.findLast((fact) => !fact.isOwn && fact.fields.length > 0 && fact.time <= (first?.time ?? time))
  return [
    { text: joined(wordsOf(wrong.code), wrong.message), tone },
    ...(first === undefined ? [] : [{ text: `First seen: ${first.text}`, tone: tones.bad, fact: first }]),
    ...(cause === undefined
      ? []
      : [
          {
            text: `Before that, ${kindOf(cause.object.gvk)} ${cause.object.name} was changed`,
            tone: tones.plain,
            fact: cause,
          },
        ]),
  ]
}

/** `crash-loop` as `Crash loop`. */
export const wordsOf = (code: string): string =>
  `${code.slice(0, 1).toUpperCase()}${code.slice(1).replaceAll("-", " ").replace("roll out", "roll-out")}`
