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
import type { OwnedLifecycles, TraceItem } from "../../trace-item.ts"
import { listedLives, listedOwner } from "../lives/life-sketch.ts"
import { Lives } from "../lives/lives.ts"
import { LifeSpans, namesOf, spanTraceOf } from "./life-spans.ts"
import { type Attributes, SpanBatches, spanIdOf, traceIdOf } from "./spans.ts"

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
