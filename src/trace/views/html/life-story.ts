/**
 * What a page shows of one life: its bar on the time line, in it the phases of a pod, below it the states of its containers, and what it adds to
 * the list of changes.
 */
import type { FieldDifference } from "../../json/difference.ts"
import type { ContainerState, ObservedContainer } from "../lives/container-states.ts"
import type { LifeEnd, LifePlace, LifeSketch, LifeSubject, PodPhase } from "../lives/life-sketch.ts"
import { type ChangeLog, listedFields, type Tone } from "./change-log.ts"

/** A part of a row. Times are µs since the Unix epoch. */
export interface Part {
  readonly begin: number
  end: number
  readonly name: string
  readonly tone: Tone
}

/** A moment on a row. */
export interface Mark {
  readonly time: number
  readonly name: string
}

/** How much may still be drawn, of all lives together: a page of more would open slowly. */
export interface Room {
  objects: number
  parts: number
  /** What was not drawn for want of room. */
  missingObjects: number
  missingParts: number
}

/** One life, drawn or not. */
export class LifeStory implements LifeSketch<undefined> {
  readonly subject: LifeSubject
  readonly isDrawn: boolean
  begun = 0
  ended = 0
  /** Why it ended, for people. */
  how = ""
  isBad = false
  readonly phases: Part[] = []
  readonly marks: Mark[] = []
  readonly containers = new Map<string, Part[]>()
  /** The label of the object at the top of its chain, and whether it is that itself. */
  root = ""
  isTop = false
  readonly #log: ChangeLog
  readonly #room: Room

  constructor(subject: LifeSubject, log: ChangeLog, room: Room) {
    this.subject = subject
    this.#log = log
    this.#room = room
    this.isDrawn = room.objects > 0
    if (this.isDrawn) room.objects--
    else room.missingObjects++
  }

  place({ root, isTop }: LifePlace<undefined, this>): void {
    this.root = root.label
    this.isTop = isTop
  }

  begin(time: number): void {
    this.begun = time
    this.ended = time
    if (!this.subject.existed) this.#list(time, "first seen")
  }

  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void {
    const fields = listedFields(differences)
    this.#mark(time, `changed ${fields.map(({ path }) => path).join(", ")}`)
    const { namespace, label } = this.subject
    this.#log.add({ time, namespace, label, what: "changed", tone: undefined, fields, isCut })
  }

  deletionRequested(time: number): void {
    this.#mark(time, "deletion requested")
    this.#list(time, "deletion requested")
  }

  phase(time: number, phase: PodPhase): void {
    const tone = toneOfPhase(phase.name)
    const why = [phase.reason, phase.message].filter((part) => part !== undefined).join(": ")
    const what = why === "" ? phase.name : `${phase.name} (${why})`
    if (tone === "bad") this.isBad = true
    this.#extend(this.phases, time, what, tone)
    this.#list(time, `phase ${what}`, tone === "bad" ? tone : undefined)
  }

  containerState(time: number, container: ObservedContainer, state: ContainerState): void {
    const tone = toneOfState(state)
    const name = container.kind === "container" ? container.name : `${container.name} (${container.kind})`
    const what = state.message === undefined ? state.name : `${state.name}: ${state.message}`
    if (this.isDrawn) {
      const parts = this.containers.get(name) ?? []
      this.containers.set(name, parts)
      this.#extend(parts, time, what, tone)
    }
    this.#list(time, `container ${name}: ${what}`, tone === "bad" ? tone : undefined)
  }

  end(time: number, { how }: LifeEnd): void {
    this.ended = time
    this.how = how
    for (const parts of [this.phases, ...this.containers.values()]) {
      const last = parts.at(-1)
      if (last !== undefined) last.end = Math.max(last.begin, time)
    }
    if (how !== AT_THE_END) this.#list(time, how)
  }

  /** A life of a pod that the trace lists without a name. */
  addListed(name: string, begin: number, end: number): void {
    if (!this.isDrawn) return
    const parts = this.containers.get(name) ?? []
    this.containers.set(name, parts)
    if (this.#hasRoom()) parts.push({ begin, end: Math.max(begin, end), name: "Running", tone: "good" })
  }

  /** A new part ends the one before it. What is told of two clocks does not go back. */
  #extend(parts: Part[], time: number, name: string, tone: Tone): void {
    const last = parts.at(-1)
    const begin = Math.max(time, last?.begin ?? time)
    if (last !== undefined) last.end = begin
    if (this.isDrawn && this.#hasRoom()) parts.push({ begin, end: begin, name, tone })
  }

  #mark(time: number, name: string): void {
    if (this.isDrawn && this.#hasRoom()) this.marks.push({ time, name })
  }

  #hasRoom(): boolean {
    if (this.#room.parts > 0) {
      this.#room.parts--
      return true
    }
    this.#room.missingParts++
    return false
  }

  #list(time: number, what: string, tone?: Tone): void {
    // What was there when the trace began did not happen in it.
    if (this.subject.existed && time <= this.begun) return
    const { namespace, label } = this.subject
    this.#log.add({ time, namespace, label, what, tone, fields: [], isCut: false })
  }
}

/** As {@link Lives} says it. */
const AT_THE_END = "exists at the end of the trace"

const toneOfPhase = (phase: string): Tone => {
  if (phase === "Running") return "good"
  if (phase === "Failed" || phase === "Unknown") return "bad"
  return phase === "Succeeded" ? "over" : "waiting"
}

/** Reasons to wait for which nobody has to do anything. */
const harmless: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"])

const toneOfState = ({ kind, exitCode = 0, reason }: ContainerState): Tone => {
  if (kind === "running") return "good"
  if (kind === "terminated") return exitCode === 0 && reason !== "OOMKilled" ? "over" : "bad"
  return reason === undefined || harmless.has(reason) ? "waiting" : "bad"
}
