/**
 * What explains what became of an object, as lines: the facts that `src/timeline` picks out of the changes of itself, its owners and the Events about them, with
 * their writers.
 */
import { visible } from "../../text/index.ts"
import { type ExplainingFact, Explanation, isConsequence } from "../../timeline/index.ts"
import { eventKinds, type JsonObject } from "../../trace/index.ts"
import { objectOf } from "./changes-of.ts"
import { differenceLines, objectName, objectsIn, statementOf, writersText } from "./describe-change.ts"

/** Lines between the end of an object and its successor. */
const mostAfterEnd = 500

/** Follows one object and its owners, change by change. */
export class WhyLines {
  readonly #gvk: string
  readonly #timeText: (micros: number) => string
  readonly #explanation = new Explanation()
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
    const time = Number(change.time)
    const isEvent = eventKinds.includes(String(change.gvk))
    const event = isEvent ? statementOf(change) : undefined
    if (isEvent && event === undefined) return []
    const facts = this.#explanation.of({
      ...{ type: String(change.type), gvk: String(change.gvk), uid: String(change.uid), time, isOwn },
      ...{ state: objectOf(change), paths: objectsIn(change.differences).map(({ path }) => String(path)) },
      ...(event && { event }),
    })
    const earlier = facts.filter((fact) => fact.time < time).toSorted((one, other) => one.time - other.time)
    const [first, ...others] = facts.filter((fact) => fact.time >= time).flatMap((fact) => factLines(change, fact))
    return [
      ...earlier.map((fact) => this.#line(change, fact.time, fact.text)),
      ...(first === undefined ? [] : [this.#line(change, time, first)]),
      ...others.map((each) => `    ${each.trimStart()}`),
    ].map(visible)
  }

  #line(change: JsonObject, micros: number, fact: string): string {
    return `${this.#timeText(micros)}  ${objectName(change)}  ${fact}`
  }
}

/** The fact with who did it, and the fields that they changed. */
const factLines = (change: JsonObject, { text, isWritten, isOfFields }: ExplainingFact): ReadonlyArray<string> => {
  // Who asked for a deletion is not among those who wrote the object.
  const { managers: _, ...unmanaged } = change
  const writer = isWritten === "deletion" ? writersText({ ...unmanaged, type: "deleted" }) : writersText(change)
  const differences = objectsIn(change.differences).filter(({ path }) => !isConsequence(String(path)))
  return [isWritten === false ? text : `${text}${writer}`, ...(isOfFields ? differenceLines({ differences }) : [])]
}
