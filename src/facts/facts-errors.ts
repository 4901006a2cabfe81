import * as Schema from "effect/Schema"

/** By fault, what to do. */
const advice = {
  /** The recording cannot be that of the segments, or has no longer what is needed of it. */
  unmade: "Make a directory of the stream with reel restore, and name it with --data-dir.",
  /** The name of the cluster has facts of another stream. */
  named: "Give the cluster another name, with --cluster.",
  absent: "Make facts with reel fleet facts.",
  /** They do not fit into the cache. */
  large: "Ask about less with --since, --until or --clusters, or give the cache more with --cache-bytes.",
  /** The optional package is not there. */
  package: "Install it beside kubereel: npm install @duckdb/node-api@1.5.5-r.1",
  /** DuckDB does not take the question. */
  question: "",
} as const

/** What can go wrong with facts. Errors of stores, streams and recordings are theirs. The message says what to do. */
export class FactsError extends Schema.TaggedError<FactsError>()("FactsError", {
  fault: Schema.Literals(["unmade", "named", "absent", "large", "package", "question"]),
  /** A sentence without a full stop. */
  reason: Schema.String,
}) {
  override get message(): string {
    const then = advice[this.fault]
    return then === "" ? this.reason : `${this.reason}. ${then}`
  }
}
