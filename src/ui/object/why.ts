/** What explains the state of an object, with what it is of, as the page shows it; and sentences about a moment. The judgement is that of `reel why`. */

import {
  type ExplainingFact,
  Explanation,
  healthOf,
  isConsequence,
  type LaneObject,
  type Tone,
  tones,
} from "../../timeline/index.ts"
import type { FieldChange, ObjectChange } from "../source/source.ts"
import { kindOf } from "../text/shown-text.ts"

/** One thing that happened. */
export interface Fact extends ExplainingFact {
  /** Whether it is of the object that is asked about, or of an Event. */
  readonly isOwn: boolean
  readonly change: ObjectChange
  readonly fields: ReadonlyArray<FieldChange>
}

/** In order of time. `changes` are in the order in which they were recorded, with the states of the object. */
export const factsOf = (object: Pick<LaneObject, "gvk">, changes: Iterable<ObjectChange>): ReadonlyArray<Fact> => {
  const explanation = new Explanation()
  const facts: Fact[] = []
  for (const change of changes) {
    const { type, time, state, event, differences } = change
    const { gvk, uid } = change.object
    const isOwn = gvk === object.gvk
    const paths = differences.map(({ path }) => path)
    const told = explanation.of({ type, gvk, uid, time, isOwn, state, paths, ...(event && { event }) })
    const fields = differences.filter(({ path }) => !isConsequence(path))
    for (const fact of told)
      facts.push({ ...fact, isOwn: isOwn || event !== undefined, change, fields: fact.isOfFields ? fields : [] })
  }
  return facts.sort((one, other) => one.time - other.time)
}

/** How it is at a moment, and since when; what went before it of what its owners want. Sentences for the head of the pane. */
export const sentences = (
  object: LaneObject,
  state: ObjectChange["state"],
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
    { text: `${wordsOf(wrong.code)}${wrong.message === "" ? "" : `: ${wrong.message}`}`, tone },
    ...(first === undefined ? [] : [{ text: `First seen: ${first.text}`, tone: tones.bad, fact: first }]),
    ...(cause === undefined
      ? []
      : [
          {
            text: `Before that, ${kindOf(cause.change.object.gvk)} ${cause.change.object.name} was changed`,
            tone: tones.plain,
            fact: cause,
          },
        ]),
  ]
}

/** `crash-loop` as `Crash loop`. */
export const wordsOf = (code: string): string =>
  `${code.slice(0, 1).toUpperCase()}${code.slice(1).replaceAll("-", " ").replace("roll out", "roll-out")}`
