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
import type { OwnedLifecycles } from "../../formats/simkube/simkube-trace.ts"
import type { TraceItem } from "../../trace-item.ts"
import type { Root, RootLanes } from "../lives/life-sketch.ts"
import { listedLives, listedOwner } from "../lives/listed-lives.ts"
import { Lives } from "../lives/lives.ts"
import { type Attributes, keyValues } from "./attributes.ts"
import { spanIdOf, traceIdOf } from "./identities.ts"
import { LifeSpans, type SpanLane } from "./life-spans.ts"
import { namesOf } from "./resource-names.ts"
import { type Span, spanJson } from "./span.ts"

// Collects spans into export requests, one on each line: what the collector's file receiver reads, and what is one request of OTLP/HTTP.
//
// Requests are bounded: collectors refuse what is larger than some MiB.

/** As many as OpenTelemetry's own exporters send at a time. */
const MOST_SPANS = 512
/** Characters; gRPC gateways behind collectors take 4 MiB, and a character has at most 3 bytes. */
const MOST_CHARACTERS = 1024 * 1024

const scope = JSON.stringify({ name: "kubereel" })

/** The spans of one trace, in requests. */
class SpanBatches {
  /** Spans by the JSON of their resource's attributes. */
  readonly #spans = new Map<string, string[]>()
  #count = 0
  #characters = 0
  readonly #full: string[] = []

  /** Adds a span of something that has these attributes. */
  add(span: Span, resource: Attributes): void {
    const key = JSON.stringify(keyValues(resource))
    const json = spanJson(span)
    const size = json.length + (this.#spans.has(key) ? 0 : key.length)
    if (this.#count > 0 && this.#characters + size > MOST_CHARACTERS) this.#close()
    const spans = this.#spans.get(key)
    if (spans === undefined) this.#spans.set(key, [json])
    else spans.push(json)
    this.#count++
    this.#characters += size
    if (this.#count >= MOST_SPANS) this.#close()
  }

  /** The lines that are full. */
  take(): Uint8Array | undefined {
    return this.#full.length === 0 ? undefined : Buffer.from(this.#full.splice(0).join(""))
  }

  /** The rest; `undefined` if there is nothing. */
  end(): Uint8Array | undefined {
    if (this.#count > 0) this.#close()
    return this.take()
  }

  #close(): void {
    const resources = [...this.#spans].map(
      ([attributes, spans]) =>
        `{"resource":{"attributes":${attributes}},"scopeSpans":[{"scope":${scope},"spans":[${spans.join(",")}]}]}`,
    )
    this.#full.push(`{"resourceSpans":[${resources.join(",")}]}\n`)
    this.#spans.clear()
    this.#count = 0
    this.#characters = 0
  }
}

/** One encoder for one trace. */
export const otlpEncoder = (): TraceEncoder => new OtlpEncoder()

class OtlpEncoder implements TraceEncoder, RootLanes<SpanLane> {
  readonly leftOut: LeftOut = nothingLeftOut
  readonly #batches = new SpanBatches()
  #start = 0
  #own = 0
  readonly #lives = new Lives<SpanLane, LifeSpans>({
    view: "otlp",
    lanes: this,
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

  /** A trace for each object at the top: UIDs tell objects of any cluster apart, names only those of one trace. */
  takeRoot({ identity, uid, name, label }: Omit<Root<SpanLane>, "lane">): SpanLane {
    const traceId = traceIdOf(uid === "" ? `${this.#seed} ${identity}` : identity)
    return { traceId, service: name === "" ? label : name }
  }

  release(): void {
    // A lane is nothing but names.
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
    const root = this.#lives.placement.takeRootOf(owner, namespace)
    for (const { name, begin, end: ended } of listedLives(lifecycles, start, end)) {
      if (alive !== undefined) alive.addListed(name, begin, ended)
      else
        this.#write(root.lane, name, begin, ended, undefined, {
          ...(namespace !== "" && { "service.namespace": namespace, "k8s.namespace.name": namespace }),
          ...namesOf(owner),
        })
    }
    this.#lives.placement.giveBack(root)
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
    const lane = { traceId: traceIdOf(`${this.#seed} missing`), service: "missing from the trace" }
    this.#write(lane, name, begin, end, error, {}, attributes)
  }

  #write(
    { traceId, service }: SpanLane,
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
