/**
 * Writes a trace as OpenTelemetry spans: one OTLP trace for each object at the top of an owner chain and all that it owns.
 *
 * Guaranteed: identifiers are unique and the same whenever the same trace is converted; a span's parent is in the same OTLP trace; no
 * span ends before it begins, and none begins before the trace does. A span is written when it ends, so owners come after what they owned and
 * lost. Gaps, and kinds that were not watched, are spans of an OTLP trace of their own, so that nothing looks more complete than it is.
 *
 * Memory: that of {@link Lives}, the events of spans that are open, and one request.
 */
import type { GapEvent } from "../../event.ts"
import { type LeftOut, nothingLeftOut, type TraceEncoder } from "../../formats/format.ts"
import type { FieldDifference } from "../../json/difference.ts"
import { groupKindOf } from "../../ownership/ownership.ts"
import type { OwnedLifecycles, TraceItem } from "../../trace-item.ts"
import type { ToldCondition } from "../lives/conditions.ts"
import {
  type LifeEnd,
  type LifePlace,
  type LifeSketch,
  type LifeSubject,
  listedLives,
  listedOwner,
  type OwnerName,
  type PodPhase,
  type Root,
} from "../lives/life-sketch.ts"
import { Lives } from "../lives/lives.ts"
import type { ContainerState, ObservedContainer } from "../lives/pod-states.ts"
import { type Attributes, type Span, SpanBatches, type SpanEvent, spanIdOf, traceIdOf } from "./spans.ts"

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

/**
 * Draws one life: a span for the object, with events for changes of what is wanted of it, and below that of a pod one
 * for each phase and for each run of a container. To which trace they belong may be known only when the owner is seen;
 * until then they are held.
 */
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

/** One encoder for one trace. */
export const otlpEncoder = (): TraceEncoder => new OtlpEncoder()

class OtlpEncoder implements TraceEncoder {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #batches = new SpanBatches()
  #start = 0
  #own = 0
  readonly #lives = new Lives<LifeSpans>({
    view: "otlp",
    sketch: (subject) =>
      new LifeSpans(subject, { seed: this.#seed, clusterUid: this.#clusterUid }, (span, resource) =>
        this.#batches.add(span, resource),
      ),
    onStart: (time) => {
      this.#start = time
    },
  })

  add(item: TraceItem): void {
    this.#lives.add(item)
    if (item.type === "lifecycles") this.#listed(item)
    else if (item.type === "event" && item.event.type === "gap") this.#gap(item.event)
  }

  take(): Uint8Array | undefined {
    return this.#batches.take()
  }

  *finish(): Generator<Uint8Array> {
    const end = this.#lives.end()
    for (const _ of this.#lives.finish()) {
      const piece = this.#batches.take()
      if (piece !== undefined) yield piece
    }
    for (const { gvk, namespace = "", state } of this.#lives.header.incomplete)
      this.#missing(`incomplete: ${gvk}`, this.#lives.beginning(), end, `the kind was not watched: ${state}`, {
        "kubereel.gvk": gvk,
        "k8s.namespace.name": namespace === "" ? undefined : namespace,
      })
    const rest = this.#batches.end()
    if (rest !== undefined) yield rest
  }

  get #clusterUid(): string | undefined {
    return this.#lives.header.clusterUid
  }

  /** Tells spans of different traces apart, also of one cluster. */
  get #seed(): string {
    return `${this.#clusterUid ?? ""} ${this.#start}`
  }

  #listed(lifecycles: OwnedLifecycles): void {
    const [start, end] = [this.#lives.beginning(), this.#lives.end()]
    const { owner, namespace } = listedOwner(lifecycles)
    const alive = this.#lives.ownerOf(owner, namespace)
    const trace = spanTraceOf(this.#lives.rootOf(owner, namespace), this.#seed)
    for (const { name, begin, end: ended } of listedLives(lifecycles, start, end)) {
      if (alive !== undefined) alive.addListed(name, begin, ended)
      else
        this.#write(trace, name, begin, ended, undefined, {
          ...(namespace !== "" && { "service.namespace": namespace, "k8s.namespace.name": namespace }),
          ...namesOf(owner),
        })
    }
  }

  #gap({ gvk, namespace, fromTime, toTime, reason, detail, fromVersion, toVersion }: GapEvent): void {
    const begin = Math.max(this.#lives.beginning(), fromTime)
    this.#missing(`gap: ${gvk}`, begin, toTime, `${reason}: ${detail}`, {
      "kubereel.gvk": gvk,
      "k8s.namespace.name": namespace === "" ? undefined : namespace,
      "kubereel.gap.reason": reason,
      "kubereel.gap.from_version": fromVersion,
      "kubereel.gap.to_version": toVersion,
    })
  }

  #missing(name: string, begin: number, end: number, error: string, attributes: Attributes): void {
    const trace = { traceId: traceIdOf(`${this.#seed} missing`), service: "missing from the trace" }
    this.#write(trace, name, begin, end, error, {}, attributes)
  }

  #write(
    { traceId, service }: ReturnType<typeof spanTraceOf>,
    name: string,
    begin: number,
    end: number,
    error: string | undefined,
    resource: Attributes,
    attributes: Attributes = {},
  ): void {
    const spanId = spanIdOf(`${this.#seed} own ${this.#own++}`)
    const more = { "service.name": service, "k8s.cluster.uid": this.#clusterUid, ...resource }
    this.#batches.add({ traceId, spanId, parentSpanId: undefined, name, begin, end, attributes, error }, more)
  }
}
