/**
 * What a page shows of one life: its bar on the time line, on it the phases of a pod, below it the states of its containers and the times in
 * which a condition was wrong; and what it adds to the list of changes and to that of faults.
 */
import { excerpts, shortened, type ValuePair } from "../../../page/index.ts"
import { UNSCHEDULABLE } from "../../../timeline/index.ts"
import { statementText, wasJustCreated } from "../../event-statement.ts"
import type { FieldDifference } from "../../json/difference.ts"
import { formatExactJson, type JsonValue } from "../../json/exact-json.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import type { LifeEnd, LifePlace, LifeSketch, LifeSubject, PodPhase } from "../lives/life-sketch.ts"
import type { ContainerState, ObservedContainer } from "../lives/pod-states.ts"

/** How something looks: as it should be, on its way, wrong, or over. */
export type Tone = "good" | "waiting" | "bad" | "over"

/** A part of a row. Times are µs since the Unix epoch. */
export interface Part {
  readonly begin: number
  /** Infinity: it is not over. */
  end: number
  /** `Waiting: CrashLoopBackOff`. */
  readonly name: string
  /** What Kubernetes says of it. */
  readonly message: string | undefined
  readonly tone: Tone
}

/** One change, at µs since the Unix epoch. */
export interface Change {
  readonly time: number
  readonly namespace: string
  /** `Deployment/web`. */
  readonly label: string
  /** What happened, in words. */
  readonly what: string
  readonly isBad: boolean
  /** The fields that differ, with what is shown of their values as JSON. */
  readonly fields: ReadonlyArray<readonly [path: string, values: ValuePair]>
  /** Whether there are more fields than are listed. */
  readonly isCut: boolean
}

/** A fault of one object. */
export interface ObjectFault {
  /** `container main: Terminated: OOMKilled (137)`. */
  readonly what: string
  /** What Kubernetes said the last time, if it said anything. */
  message: string | undefined
  readonly first: number
  last: number
  /** How often. */
  count: number
}

/** Parts of one row that are kept: the newest. More cannot be told apart on a screen. */
const MOST_PARTS = 200
/** Rows of one object: a pod of a damaged trace may have any number of containers. */
const MOST_ROWS = 50
const MOST_FAULTS = 50

/** One life. Memory: {@link MOST_PARTS} for each of its rows. */
export class LifeStory implements LifeSketch {
  readonly subject: LifeSubject
  begun = 0
  ended = 0
  /** Why it ended, for people. */
  how = ""
  /** When something happened last, in µs since the Unix epoch; -1: it existed all the time, and nothing did. */
  lastActivity = -1
  /** The label of the object at the top of its owner chain. */
  root: string
  isTop = false
  /** What is drawn, by row: the empty string is the row of the object itself. */
  readonly rows = new Map<string, Part[]>([["", []]])
  readonly faults = new Map<string, ObjectFault>()
  /** What is wrong at present, by row. */
  readonly #wrong = new Map<string, string>()
  readonly #on: { readonly changed: (change: Change) => void; readonly gone: () => void }

  /** @param on `gone`: called if it ends before the trace does */
  constructor(subject: LifeSubject, on: { readonly changed: (change: Change) => void; readonly gone: () => void }) {
    this.subject = subject
    this.root = subject.label
    this.#on = on
  }

  place({ root, isTop }: LifePlace<this>): void {
    this.root = root.label
    this.isTop = isTop
  }

  begin(time: number): void {
    this.begun = time
    const { existed, created, said } = this.subject
    if (existed) return
    const isNew = created !== undefined && wasJustCreated(Date.parse(created) * 1000, time)
    this.#list(time, said === undefined ? (isNew ? "created" : "first seen") : statementText(said), {
      isBad: said?.type === "Warning",
    })
  }

  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void {
    const fields = differences.map(
      ({ path, before, after }) => [shortened(path), excerpts([jsonOf(before), jsonOf(after)])] as const,
    )
    this.#list(time, "changed", { fields, isCut })
  }

  deletionRequested(time: number): void {
    this.#list(time, "deletion requested")
  }

  phase(time: number, { name, reason, message }: PodPhase): void {
    const shown = reason === undefined ? name : `${name} (${reason})`
    const tone = toneOfPhase(name, reason)
    this.#enter("", time, { what: `phase ${shown}`, name: shown, message, tone })
    this.#list(time, `phase ${[shown, message].filter((part) => part !== undefined).join(": ")}`, {
      isBad: tone === "bad",
    })
  }

  containerState(time: number, container: ObservedContainer, state: ContainerState): void {
    const label = container.kind === "container" ? container.name : `${container.name} (${container.kind})`
    const { name, message } = state
    const tone = toneOfState(state)
    this.#enter(label, time, { what: `container ${label}: ${name}`, name, message, tone })
    this.#list(time, `container ${label}: ${message === undefined ? name : `${name}: ${message}`}`, {
      isBad: tone === "bad",
    })
  }

  condition(time: number, { type, name, message, isWrong }: ToldCondition): void {
    if (isWrong) this.#enter(type, time, { what: name, name, message, tone: "bad" })
    else {
      this.#endLast(type, time)
      this.#wrong.delete(type)
    }
    this.#list(time, message === undefined ? name : `${name}: ${message}`, { isBad: isWrong })
  }

  end(time: number, { how }: LifeEnd): void {
    this.ended = time
    this.how = how
    for (const row of this.rows.keys()) this.#endLast(row, time)
    if (how === AT_THE_END) return
    this.#list(time, how)
    this.#on.gone()
  }

  /** Whether the fault is there at the end of the trace. */
  isLasting({ what }: ObjectFault): boolean {
    return this.how === AT_THE_END && [...this.#wrong.values()].includes(what)
  }

  /** A life of a pod that the trace lists without a name. */
  addListed(name: string, begin: number, end: number): void {
    this.#row(name)?.push({ begin, end: Math.max(begin, end), name: "Running", message: undefined, tone: "good" })
    this.lastActivity = Math.max(this.lastActivity, end)
  }

  #row(name: string): Part[] | undefined {
    const known = this.rows.get(name)
    if (known !== undefined || this.rows.size >= MOST_ROWS) return known
    const parts: Part[] = []
    this.rows.set(name, parts)
    return parts
  }

  /** A new part ends the one before it. Where two clocks disagree, time does not go back. */
  #enter(
    row: string,
    time: number,
    { what, name, message, tone }: Omit<Part, "begin" | "end"> & { what: string },
  ): void {
    const said = message === undefined ? undefined : shortened(message)
    const parts = this.#row(row)
    const begin = Math.max(time, parts?.at(-1)?.begin ?? time)
    this.#endLast(row, begin)
    parts?.push({ begin, end: Number.POSITIVE_INFINITY, name: shortened(name), message: said, tone })
    if (parts !== undefined && parts.length > MOST_PARTS) parts.shift()
    if (tone !== "bad") this.#wrong.delete(row)
    else if (this.faults.size < MOST_FAULTS) this.#fault(row, shortened(what), said, time)
  }

  #endLast(row: string, time: number): void {
    const last = this.rows.get(row)?.at(-1)
    if (last !== undefined) last.end = Math.min(last.end, Math.max(last.begin, time))
  }

  #fault(row: string, what: string, message: string | undefined, time: number): void {
    this.#wrong.set(row, what)
    const fault = this.faults.get(what) ?? { what, message, first: time, last: time, count: 0 }
    this.faults.set(what, fault)
    fault.message = message ?? fault.message
    fault.last = Math.max(fault.last, time)
    fault.count++
  }

  #list(time: number, what: string, more: Partial<Pick<Change, "isBad" | "fields" | "isCut">> = {}): void {
    // What was there when the trace began did not happen in it.
    if (this.subject.existed && time <= this.begun) return
    this.lastActivity = Math.max(this.lastActivity, time)
    const { namespace, label } = this.subject
    this.#on.changed({ time, namespace, label, what: shortened(what), isBad: false, fields: [], isCut: false, ...more })
  }
}

/** As {@link Lives} says it. */
const AT_THE_END = "exists at the end of the trace"

const jsonOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : formatExactJson(value)

const toneOfPhase = (name: string, reason: string | undefined): Tone => {
  if (name === "Running") return "good"
  if (name === "Failed" || name === "Unknown" || reason === UNSCHEDULABLE) return "bad"
  return name === "Succeeded" ? "over" : "waiting"
}

/** Reasons to wait that need no action. */
const harmless: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"])

const toneOfState = ({ kind, exitCode = 0, reason }: ContainerState): Tone => {
  if (kind === "running") return "good"
  if (kind === "terminated") return exitCode === 0 && reason !== "OOMKilled" ? "over" : "bad"
  return reason === undefined || harmless.has(reason) ? "waiting" : "bad"
}
