/**
 * The spans of one life: one for the object, with events for changes of what is wanted of it, and below that of a pod one for each phase and
 * for each run of a container.
 *
 * To which trace they belong may be known only later, when the owner is seen. Until then they are held. Memory: at most {@link MOST_EVENTS} events.
 */
import type { FieldDifference } from "../../json/difference.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import type { LifeEnd, LifePlace, LifeSketch, LifeSubject, OwnerName, PodPhase, Root } from "../lives/life-sketch.ts"
import type { ContainerState, ObservedContainer } from "../lives/pod-states.ts"
import { type Attributes, type Span, type SpanEvent, spanIdOf, traceIdOf } from "./spans.ts"

/** Events of one span that are kept, as many as OpenTelemetry's SDKs keep; an object that changes every second for a day has 86,400. */
const MOST_EVENTS = 128

/** The OTLP trace of all that one object owns. */
interface SpanTrace {
  readonly traceId: string
  /** The name of the object at the top. */
  readonly service: string
}

/** A trace for each object at the top: UIDs tell objects of any cluster apart, names only those of one trace. */
export const spanTraceOf = ({ identity, uid, name, label }: Root, seed: string): SpanTrace => ({
  traceId: traceIdOf(uid === "" ? `${seed} ${identity}` : identity),
  service: name === "" ? label : name,
})

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
export class LifeSpans implements LifeSketch {
  readonly spanId: string
  readonly #subject: LifeSubject
  readonly #scene: SpanScene
  readonly #write: SpanWriter
  readonly #held: Held[] = []
  #trace: SpanTrace | undefined
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
  /** The containers that run, and since when. */
  readonly #running = new Map<string, { readonly since: number; readonly container: ObservedContainer }>()

  constructor(subject: LifeSubject, scene: SpanScene, write: SpanWriter) {
    this.#subject = subject
    this.#scene = scene
    this.#write = write
    const { uid, gvk, namespace, name, number } = subject
    this.spanId = spanIdOf(`${scene.seed} ${number} ${uid} ${gvk} ${namespace}/${name}`)
  }

  place({ root, owner }: LifePlace<this>): void {
    const subject = this.#subject
    // An owner that was not seen has a name nevertheless.
    const above = owner === undefined ? (subject.owner === undefined ? {} : namesOf(subject.owner)) : owner.#names
    this.#names = { ...above, ...namesOf(subject) }
    this.#parentSpanId = owner?.spanId
    this.#trace = spanTraceOf(root, this.#scene.seed)
    for (const held of this.#held.splice(0)) this.#emit(this.#trace, held)
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
    if (state.isEnd) {
      // A container that was seen only when it had ended has the begin that its status states.
      const since = this.#running.get(container.name)?.since ?? Math.max(this.#begin, state.startedAt ?? time)
      this.#running.delete(container.name)
      this.#addRun(since, time, container, state)
    } else this.#stop(container.name, time)
    if (state.kind === "running") this.#running.set(container.name, { since: time, container })
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
    for (const name of this.#running.keys()) this.#stop(name, time)
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

  /** A run ends without its end having been seen. */
  #stop(name: string, time: number): void {
    const running = this.#running.get(name)
    if (running === undefined) return
    this.#running.delete(name)
    this.#addRun(running.since, time, running.container)
  }

  #addRun(
    since: number,
    end: number,
    { name, kind, image, restarts }: ObservedContainer,
    state?: ContainerState,
  ): void {
    const attributes = {
      "k8s.container.restart_count": restarts,
      "k8s.container.status.state": state?.kind,
      "k8s.container.status.reason": state?.reason,
      "process.exit.code": state?.exitCode,
      "kubereel.container.kind": kind,
      "kubereel.container.signal": state?.signal,
      "kubereel.container.message": state?.message,
    }
    const error = state === undefined ? undefined : failureOf(state)
    const resource = { "k8s.container.name": name, "container.image.name": image }
    this.#child(`container ${name}`, Math.min(since, end), end, attributes, error, resource)
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
    if (this.#trace === undefined) this.#held.push(held)
    else this.#emit(this.#trace, held)
  }

  #emit({ traceId, service }: SpanTrace, { span, parent, resource }: Held): void {
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

/** A container that was killed for its memory may have any exit code. */
const failureOf = ({ name, reason, exitCode = 0, message }: ContainerState): string | undefined => {
  if (exitCode === 0 && reason !== "OOMKilled") return undefined
  return message === undefined ? name : `${name}: ${message}`
}

/** Kinds that the conventions know, and the prefix of their attributes. */
const prefixes: Readonly<Record<string, string>> = {
  Pod: "k8s.pod",
  Node: "k8s.node",
  ReplicationController: "k8s.replicationcontroller",
  ResourceQuota: "k8s.resourcequota",
  "apps/Deployment": "k8s.deployment",
  "apps/ReplicaSet": "k8s.replicaset",
  "apps/StatefulSet": "k8s.statefulset",
  "apps/DaemonSet": "k8s.daemonset",
  "batch/Job": "k8s.job",
  "batch/CronJob": "k8s.cronjob",
  "autoscaling/HorizontalPodAutoscaler": "k8s.hpa",
}

/** The resource attributes of an object: `k8s.pod.name` and `k8s.pod.uid` of a pod; nothing for kinds that the conventions do not know. */
export const namesOf = ({ gvk, name, uid }: OwnerName): Attributes => {
  const groupKind = groupKindOf(gvk)
  if (!Object.hasOwn(prefixes, groupKind)) return groupKind === "Namespace" ? { "k8s.namespace.name": name } : {}
  const prefix = prefixes[groupKind]
  return { [`${prefix}.name`]: name, ...(uid !== "" && { [`${prefix}.uid`]: uid }) }
}
