/**
 * The spans of one life: one for the object, with events for changes of what is wanted of it, and below that of a pod one for each phase and
 * for each run of a container.
 *
 * To which trace they belong may be known only later, when the owner is seen. Until then they are held. Memory: at most {@link MOST_EVENTS} events.
 */
import type { FieldDifference } from "../../json/difference.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import type { ContainerState, ObservedContainer } from "../lives/container-states.ts"
import type { LifeEnd, LifePlace, LifeSketch, LifeSubject, PodPhase } from "../lives/life-sketch.ts"
import type { Attributes } from "./attributes.ts"
import { spanIdOf } from "./identities.ts"
import { namesOf } from "./resource-names.ts"
import type { Span, SpanEvent } from "./span.ts"

// The runs of one container: each from when it was started until it ended. A container that was seen only when it had ended has the begin that
// its status states.

/** A run that has ended, or that was cut off by the end of its pod's life. Times are µs since the Unix epoch. */
interface ContainerRun {
  readonly begin: number
  readonly end: number
  readonly image: string | undefined
  readonly attributes: Attributes
  /** Why it failed; `undefined`: it did not, or it is not known. */
  readonly error: string | undefined
}

/** Follows one container. `earliest`: when the life of its pod begins. */
class ContainerRuns {
  readonly #earliest: number
  #running: { readonly since: number; readonly container: ObservedContainer } | undefined

  constructor(earliest: number) {
    this.#earliest = earliest
  }

  /** The container enters a state; returns the run that ended with that. */
  enter(time: number, container: ObservedContainer, state: ContainerState): ContainerRun | undefined {
    const ended = state.isEnd ? this.#ended(time, container, state) : this.stop(time)
    if (state.kind === "running") this.#running = { since: time, container }
    return ended
  }

  /** The run that goes on ends without its end having been seen. */
  stop(time: number): ContainerRun | undefined {
    const running = this.#running
    if (running === undefined) return undefined
    this.#running = undefined
    return run(running.since, time, running.container)
  }

  #ended(time: number, container: ObservedContainer, state: ContainerState): ContainerRun {
    const since = this.#running?.since ?? Math.max(this.#earliest, state.startedAt ?? time)
    this.#running = undefined
    return run(since, time, container, state)
  }
}

const run = (begin: number, end: number, container: ObservedContainer, state?: ContainerState): ContainerRun => ({
  begin: Math.min(begin, end),
  end,
  image: container.image,
  attributes: {
    "k8s.container.restart_count": container.restarts,
    "k8s.container.status.state": state?.kind,
    "k8s.container.status.reason": state?.reason,
    "process.exit.code": state?.exitCode,
    "kubereel.container.kind": container.kind,
    "kubereel.container.signal": state?.signal,
    "kubereel.container.message": state?.message,
  },
  error: state === undefined ? undefined : failureOf(state),
})

/** A container that was killed for its memory may have any exit code. */
const failureOf = ({ name, reason, exitCode = 0, message }: ContainerState): string | undefined => {
  if (exitCode === 0 && reason !== "OOMKilled") return undefined
  return message === undefined ? name : `${name}: ${message}`
}

/** Events of one span that are kept, as many as OpenTelemetry's SDKs keep; an object that changes every second for a day has 86,400. */
const MOST_EVENTS = 128

/** The OTLP trace of all that one object owns. */
export interface SpanLane {
  readonly traceId: string
  /** The name of the object at the top. */
  readonly service: string
}

/** Takes a span, and the attributes of what it is about. */
type SpanWriter = (span: Span, resource: Attributes) => void

/** Of the trace as a whole. */
interface SpanScene {
  /** Different for traces that are different. */
  readonly seed: string
  readonly clusterUid: string | undefined
}

interface Held {
  readonly span: Omit<Span, "traceId" | "parentSpanId">
  readonly parent: "owner" | "life"
  readonly resource: Attributes
}

/** Draws one life. */
export class LifeSpans implements LifeSketch<SpanLane> {
  readonly spanId: string
  readonly #subject: LifeSubject
  readonly #scene: SpanScene
  readonly #write: SpanWriter
  readonly #held: Held[] = []
  #lane: SpanLane | undefined
  #parentSpanId: string | undefined
  /** The names of the object and of all that are above it. */
  #names: Attributes = {}
  #begin = 0
  readonly #events: SpanEvent[] = []
  #dropped = 0
  #node: string | undefined
  #phase: (PodPhase & { readonly since: number }) | undefined
  #failure: string | undefined
  #children = 0
  readonly #containers = new Map<string, ContainerRuns>()

  constructor(subject: LifeSubject, scene: SpanScene, write: SpanWriter) {
    this.#subject = subject
    this.#scene = scene
    this.#write = write
    const { uid, gvk, namespace, name, number } = subject
    this.spanId = spanIdOf(`${scene.seed} ${number} ${uid} ${gvk} ${namespace}/${name}`)
  }

  place({ root, owner }: LifePlace<SpanLane, this>): void {
    const subject = this.#subject
    // An owner that was not seen has a name nevertheless.
    const above = owner === undefined ? (subject.owner === undefined ? {} : namesOf(subject.owner)) : owner.#names
    this.#names = { ...above, ...namesOf(subject) }
    this.#parentSpanId = owner?.spanId
    this.#lane = root.lane
    for (const held of this.#held.splice(0)) this.#emit(root.lane, held)
  }

  begin(time: number): void {
    this.#begin = time
  }

  changed(time: number, differences: ReadonlyArray<FieldDifference>, isCut: boolean): void {
    this.#event(time, "changed", {
      "kubereel.changed.fields": differences.map(({ path }) => path),
      "kubereel.changed.more": isCut ? true : undefined,
    })
  }

  deletionRequested(time: number, requested: string): void {
    this.#event(time, "deletion requested", { "kubereel.deletion.time": requested })
  }

  phase(time: number, phase: PodPhase): void {
    this.#node = phase.node ?? this.#node
    this.#endPhase(time)
    this.#phase = { ...phase, since: time }
    if (phase.name === "Failed") this.#failure = explained(phase)
  }

  containerState(time: number, container: ObservedContainer, state: ContainerState): void {
    const runs = this.#containers.get(container.name) ?? new ContainerRuns(this.#begin)
    this.#containers.set(container.name, runs)
    this.#addRun(container.name, runs.enter(time, container, state))
    if (state.kind === "waiting")
      this.#event(time, "container waiting", {
        "k8s.container.name": container.name,
        "k8s.container.status.reason": state.reason,
        "kubereel.container.message": state.message,
      })
  }

  condition(time: number, { name, message, isWrong }: ToldCondition): void {
    const said = message === undefined ? name : `${name}: ${message}`
    if (isWrong) this.#failure = said
    this.#event(time, `condition ${name}`, { "kubereel.condition.message": message })
  }

  end(time: number, { how, node }: LifeEnd): void {
    this.#node = node ?? this.#node
    for (const [name, runs] of this.#containers) this.#addRun(name, runs.stop(time))
    this.#containers.clear()
    this.#endPhase(time)
    const { gvk, name, uid, label, created } = this.#subject
    const dot = gvk.lastIndexOf(".")
    this.#add("owner", {
      spanId: this.spanId,
      name: label,
      begin: this.#begin,
      end: time,
      attributes: {
        "k8s.object.api_version": gvk.slice(0, dot),
        "k8s.object.kind": gvk.slice(dot + 1),
        "k8s.object.name": name,
        "k8s.object.uid": uid === "" ? undefined : uid,
        "kubereel.created": created,
        "kubereel.end": how,
      },
      events: this.#events,
      droppedEvents: this.#dropped,
      error: this.#failure,
    })
  }

  /** A life of a pod that the trace lists without a name. */
  addListed(name: string, begin: number, end: number): void {
    this.#child(name, begin, end, {}, undefined)
  }

  #event(time: number, name: string, attributes: Attributes): void {
    if (this.#events.length < MOST_EVENTS) this.#events.push({ time, name, attributes })
    else this.#dropped++
  }

  #endPhase(time: number): void {
    if (this.#phase === undefined) return
    const { name, since, ip, reason, message } = this.#phase
    const error = name === "Failed" ? explained(this.#phase) : undefined
    this.#phase = undefined
    const attributes = {
      "k8s.pod.status.phase": name,
      "k8s.pod.ip": ip,
      "k8s.pod.status.reason": reason,
      "kubereel.pod.message": message,
    }
    this.#child(`phase ${name}`, since, time, attributes, error)
  }

  #addRun(container: string, run: ContainerRun | undefined): void {
    if (run === undefined) return
    const { begin, end, attributes, error, image } = run
    const resource = { "k8s.container.name": container, "container.image.name": image }
    this.#child(`container ${container}`, begin, end, attributes, error, resource)
  }

  #child(
    name: string,
    begin: number,
    end: number,
    attributes: Attributes,
    error: string | undefined,
    resource: Attributes = {},
  ): void {
    const spanId = spanIdOf(`${this.spanId} ${this.#children++}`)
    this.#add("life", { spanId, name, begin, end, attributes, error }, resource)
  }

  #add(parent: Held["parent"], span: Held["span"], more: Attributes = {}): void {
    const held = { span, parent, resource: { "k8s.node.name": this.#node, ...more } }
    if (this.#lane === undefined) this.#held.push(held)
    else this.#emit(this.#lane, held)
  }

  #emit({ traceId, service }: SpanLane, { span, parent, resource }: Held): void {
    const parentSpanId = parent === "life" ? this.spanId : this.#parentSpanId
    const { namespace } = this.#subject
    this.#write(
      { ...span, traceId, parentSpanId },
      {
        "service.name": service,
        ...(namespace !== "" && { "service.namespace": namespace, "k8s.namespace.name": namespace }),
        "k8s.cluster.uid": this.#scene.clusterUid,
        ...this.#names,
        // Of a Node, its own name is already there.
        ...Object.fromEntries(Object.entries(resource).filter(([, value]) => value !== undefined)),
      },
    )
  }
}

const explained = ({ name, reason, message }: PodPhase): string =>
  [name, reason, message].filter((part) => part !== undefined).join(": ")
