/** Why spans could not be sent to an endpoint. */
import * as Schema from "effect/Schema"

/** The endpoint did not take the spans. */
export class EndpointFailed extends Schema.TaggedError<EndpointFailed>()("EndpointFailed", {
  url: Schema.String,
  /**
   * - `unreachable`: there was no connection, or it broke
   * - `silent`: no answer in time
   * - `busy`: it asked to try again later
   * - `refused`: it will not take them
   * - `broken`: it failed, and does not say that another attempt would help
   * - `garbage`: the answer is not one of OTLP/HTTP
   */
  reason: Schema.Literals(["unreachable", "silent", "busy", "refused", "broken", "garbage"]),
  /** The status, what the server said, or the error of the network. */
  detail: Schema.String,
  /** How often the request was sent. */
  attempts: Schema.Int,
  /** Spans that the endpoint has taken before. */
  taken: Schema.Int,
}) {
  override get message(): string {
    const times = this.attempts === 1 ? "" : `, ${this.attempts} times`
    const taken = this.taken === 0 ? "No spans were taken" : `${this.taken} spans were taken before that`
    return `${this.url}: ${this.detail}${times}. ${taken}. ${advice[this.reason]}`
  }
}

const advice = {
  unreachable: "Check the address, and that the collector listens there",
  silent: "Check that the collector is not overloaded, then send the trace again",
  busy: "Send the trace again when the collector has room; the same trace has the same span IDs",
  refused: "Check the path, usually /v1/traces, and OTEL_EXPORTER_OTLP_HEADERS",
  broken: "The log of the collector says why; then send the trace again",
  garbage: "Check that the address is that of an OTLP/HTTP receiver, usually with the path /v1/traces",
} as const
