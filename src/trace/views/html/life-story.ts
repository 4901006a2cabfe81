/**
 * What a page shows of one life: its bar on the time line, in it the phases of a pod, below it the states of its containers; and what it adds to
 * the list of changes and to that of faults.
 *
 * Memory: twice {@link MOST_PARTS} for each row of the object.
 */

import { shortened } from "../../../page/shown-text.ts"
import { wasJustCreated } from "../../creation.ts"
import { statementText } from "../../event-statement.ts"
import type { FieldDifference } from "../../json/difference.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import type { ContainerState, ObservedContainer } from "../lives/container-states.ts"
import type { LifeEnd, LifePlace, LifeSketch, LifeSubject, PodPhase } from "../lives/life-sketch.ts"
import { UNSCHEDULABLE } from "../lives/pod-states.ts"
import { type ChangeLog, type ListedField, listedFields, type Tone } from "./change-log.ts"
import type { Faults, ObjectFault } from "./faults.ts"
import { Newest } from "./newest.ts"

/** Parts, and marks, of one row that are kept: the newest. More cannot be told apart on a screen. */
const MOST_PARTS = 200

/** A part of a row. Times are µs since the Unix epoch. */
export interface Part {
  readonly begin: number
  end: number
  /** `Waiting: CrashLoopBackOff`. */
  readonly name: string
  /** What Kubernetes says of it. */
  readonly message: string | undefined
  readonly tone: Tone
}

/** A moment on a row. */
export interface Mark {
  readonly time: number
  readonly name: string
}

/** What a page as a whole has. */
interface PageLists {
  readonly log: ChangeLog
  readonly faults: Faults
  /** Called for each life that ended before the trace did. */
  readonly onGone: (story: LifeStory) => void
}

/** One life. */
export class LifeStory implements LifeSketch<undefined> {
  readonly subject: LifeSubject
  begun = 0
  ended = 0
  /** Why it ended, for people. */
  how = ""
  /** When something happened last, in µs since the Unix epoch; -1: it existed all the time, and nothing did. */
  lastActivity = -1
  readonly phases = new Newest<Part>(MOST_PARTS)
  readonly marks = new Newest<Mark>(MOST_PARTS)
  /** From when to when a condition was wrong. */
  readonly conditions = new Newest<Part>(MOST_PARTS)
  readonly containers = new Map<string, Newest<Part>>()
  /** Whether it is at the top of its owner chain. */
  isTop = false
  readonly #lists: PageLists
  #root: string | undefined
  readonly #faults = new Map<string, ObjectFault>()
  /** Conditions that are wrong at present, by type. */
  readonly #openConditions = new Map<string, Part>()
  /** What is wrong at present: of the phase, of each container, of each condition. */
  readonly #wrong = new Map<string, string>()
  #hasEnded = false

  constructor(subject: LifeSubject, lists: PageLists) {
    this.subject = subject
    this.#lists = lists
  }

  /** The label of the object at the top of its chain. */
  get root(): string {
    return this.#root ?? this.subject.label
  }

  /** Whether anything went wrong. */
  get isBad(): boolean {
    return this.#faults.size > 0
  }

  place({ root, isTop }: LifePlace<undefined, this>): void {
    this.#root = root.label
    this.isTop = isTop
    if (this.#hasEnded) this.#tellFaults()
  }

  begin(time: number): void {
    this.begun = time
    const { existed, created, said } = this.subject
    if (existed) return
    const isNew = created !== undefined && wasJustCreated(Date.parse(created) * 1000, time)
    const isBad = said?.type === "Warning"
    this.#list(time, said === undefined ? (isNew ? "created" : "first seen") : statementText(said), { isBad })
  }

  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void {
    const fields = listedFields(differences)
    this.#mark(time, shortened(`changed ${fields.map(({ path }) => path).join(", ")}`))
    this.#list(time, "changed", { fields, isCut })
  }

  deletionRequested(time: number): void {
    this.#mark(time, "deletion requested")
    this.#list(time, "deletion requested")
  }

  phase(time: number, phase: PodPhase): void {
    const why = [phase.reason, phase.message].filter((part) => part !== undefined).join(": ")
    const name = phase.reason === undefined ? phase.name : `${phase.name} (${phase.reason})`
    const isBad = this.#enter(this.phases, time, name, phase.message, toneOfPhase(phase), "phase")
    this.#list(time, why === "" ? `phase ${phase.name}` : `phase ${phase.name} (${why})`, { isBad })
  }

  containerState(time: number, container: ObservedContainer, state: ContainerState): void {
    const label = shortened(container.kind === "container" ? container.name : `${container.name} (${container.kind})`)
    const parts = this.containers.get(label) ?? new Newest<Part>(MOST_PARTS)
    this.containers.set(label, parts)
    const isBad = this.#enter(parts, time, state.name, state.message, toneOfState(state), `container ${label}:`)
    const what = state.message === undefined ? state.name : `${state.name}: ${state.message}`
    this.#list(time, `container ${label}: ${what}`, { isBad })
  }

  condition(time: number, { type, name, message, isWrong }: ToldCondition): void {
    const [what, said] = [shortened(name), message === undefined ? undefined : shortened(message)]
    const before = this.#openConditions.get(type)
    if (before !== undefined) before.end = time
    this.#openConditions.delete(type)
    this.#wrong.delete(type)
    if (isWrong) {
      const part: Part = { begin: time, end: time, name: what, message: said, tone: "bad" }
      this.conditions.add(part)
      this.#openConditions.set(type, part)
      this.#addFault(type, what, said, time)
    }
    this.#list(time, message === undefined ? name : `${name}: ${message}`, { isBad: isWrong })
  }

  end(time: number, { how }: LifeEnd): void {
    this.ended = time
    this.how = how
    this.#hasEnded = true
    for (const { last } of [this.phases, ...this.containers.values()])
      if (last !== undefined) last.end = Math.max(last.begin, time)
    for (const part of this.#openConditions.values()) part.end = time
    if (how !== AT_THE_END) {
      this.#list(time, how)
      this.#lists.onGone(this)
    }
    if (this.#root !== undefined) this.#tellFaults()
  }

  /** A life of a pod that the trace lists without a name. */
  addListed(name: string, begin: number, end: number): void {
    const parts = this.containers.get(name) ?? new Newest<Part>(MOST_PARTS)
    this.containers.set(name, parts)
    parts.add({ begin, end: Math.max(begin, end), name: "Running", message: undefined, tone: "good" })
    this.lastActivity = Math.max(this.lastActivity, end)
  }

  /** A new part ends the one before it. Where two clocks disagree, time does not go back. Returns whether the part is bad. */
  #enter(
    parts: Newest<Part>,
    time: number,
    name: string,
    said: string | undefined,
    tone: Tone,
    source: string,
  ): boolean {
    const { last } = parts
    const begin = Math.max(time, last?.begin ?? time)
    if (last !== undefined) last.end = begin
    const [what, message] = [shortened(name), said === undefined ? undefined : shortened(said)]
    parts.add({ begin, end: begin, name: what, message, tone })
    if (tone === "bad") this.#addFault(source, shortened(`${source} ${name}`), message, time)
    else this.#wrong.delete(source)
    return tone === "bad"
  }

  #addFault(source: string, what: string, message: string | undefined, time: number): void {
    this.#wrong.set(source, what)
    const known = this.#faults.get(what)
    if (known === undefined) this.#faults.set(what, { what, message, first: time, last: time, count: 1 })
    else {
      known.message = message ?? known.message
      known.last = Math.max(known.last, time)
      known.count++
    }
  }

  #tellFaults(): void {
    const lasting = this.how === AT_THE_END ? new Set(this.#wrong.values()) : undefined
    for (const fault of this.#faults.values())
      this.#lists.faults.add(this.subject.namespace, this.root, fault, lasting?.has(fault.what) ?? false)
  }

  #mark(time: number, name: string): void {
    this.marks.add({ time, name })
  }

  #list(
    time: number,
    what: string,
    more: { readonly isBad?: boolean; readonly fields?: ReadonlyArray<ListedField>; readonly isCut?: boolean } = {},
  ): void {
    // What was there when the trace began did not happen in it.
    if (this.subject.existed && time <= this.begun) return
    this.lastActivity = Math.max(this.lastActivity, time)
    const { namespace, label } = this.subject
    const { isBad = false, fields = [], isCut = false } = more
    this.#lists.log.add({ time, namespace, label, what: shortened(what), isBad, fields, isCut })
  }
}

/** As {@link Lives} says it. */
const AT_THE_END = "exists at the end of the trace"

const toneOfPhase = ({ name, reason }: PodPhase): Tone => {
  if (name === "Running") return "good"
  if (name === "Failed" || name === "Unknown" || reason === UNSCHEDULABLE) return "bad"
  return name === "Succeeded" ? "over" : "waiting"
}

/** Reasons to wait for which nobody has to do anything. */
const harmless: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"])

const toneOfState = ({ kind, exitCode = 0, reason }: ContainerState): Tone => {
  if (kind === "running") return "good"
  if (kind === "terminated") return exitCode === 0 && reason !== "OOMKilled" ? "over" : "bad"
  return reason === undefined || harmless.has(reason) ? "waiting" : "bad"
}
