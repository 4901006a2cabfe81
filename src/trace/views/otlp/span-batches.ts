/**
 * Collects spans into export requests, one on each line: what the collector's file receiver reads, and what is one request of OTLP/HTTP.
 *
 * Requests are bounded: collectors refuse what is larger than some MiB.
 */
import { type Attributes, keyValues } from "./attributes.ts"
import { type Span, spanJson } from "./span.ts"

/** As many as OpenTelemetry's own exporters send at a time. */
const MOST_SPANS = 512
/** Characters; gRPC gateways behind collectors take 4 MiB, and a character has at most 3 bytes. */
const MOST_CHARACTERS = 1024 * 1024

const scope = JSON.stringify({ name: "kubereel" })

/** The spans of one trace, in requests. */
export class SpanBatches {
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
