/**
 * {@link requestOnce} as an Effect with tagged errors, for code that uses Effect anyway. A separate module because Effect's modules cost a
 * worker about 20 MB, which a worker that only reads streams need not pay.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { HttpClient } from "./http-client.ts"
import {
  type CollectedResponse,
  describeFailure,
  type RequestFailure,
  type RequestOptions,
  requestOnce,
} from "./request-once.ts"

/** No usable connection, or it broke before the response was complete. */
class RequestFailed extends Schema.TaggedError<RequestFailed>()("RequestFailed", {
  path: Schema.String,
  /** How the stream ended. */
  end: Schema.Literals(["truncated", "aborted", "connection", "malformed", "timeout"]),
  /** Node's, OpenSSL's or this client's code for `connection`; empty otherwise. */
  code: Schema.String,
  description: Schema.String,
}) {
  override get message(): string {
    return `GET ${this.path}: ${this.description}`
  }
}

/** The body is larger than allowed. */
class ResponseTooLarge extends Schema.TaggedError<ResponseTooLarge>()("ResponseTooLarge", {
  path: Schema.String,
  /** Bytes that were allowed. */
  maximumBytes: Schema.Number,
}) {
  override get message(): string {
    return `GET ${this.path}: the response is larger than ${this.maximumBytes} bytes`
  }
}

/** The response was not complete in time. */
class RequestDeadlineExceeded extends Schema.TaggedError<RequestDeadlineExceeded>()("RequestDeadlineExceeded", {
  path: Schema.String,
  /** ms that were allowed. */
  deadlineMs: Schema.Number,
}) {
  override get message(): string {
    return `GET ${this.path}: no complete response within ${this.deadlineMs} ms`
  }
}

type RequestError = RequestFailed | ResponseTooLarge | RequestDeadlineExceeded

/** Interrupting the effect aborts the request. */
export const request = (
  client: Pick<HttpClient, "get">,
  path: string,
  options: Omit<RequestOptions, "signal"> = {},
): Effect.Effect<CollectedResponse, RequestError> =>
  Effect.promise((signal) => requestOnce(client, path, { ...options, signal })).pipe(
    Effect.flatMap((outcome) =>
      outcome.tag === "response" ? Effect.succeed(outcome) : Effect.fail(errorOf(path, outcome)),
    ),
  )

const errorOf = (path: string, failure: RequestFailure): RequestError => {
  switch (failure.tag) {
    case "too-large":
      return new ResponseTooLarge({ path, maximumBytes: failure.maximumBytes })
    case "deadline":
      return new RequestDeadlineExceeded({ path, deadlineMs: failure.deadlineMs })
    case "failed": {
      const code = failure.end.tag === "connection" ? failure.end.code : ""
      return new RequestFailed({ path, end: failure.end.tag, code, description: describeFailure(failure) })
    }
  }
}
