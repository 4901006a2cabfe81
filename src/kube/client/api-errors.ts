/** What an API server says no with, as far as controllers act differently on it. */

import * as Schema from "effect/Schema"
import type { ApiStatus } from "../../kube/status.ts"

const facts = { method: Schema.String, path: Schema.String, detail: Schema.String }

/** 409 `Conflict`: the object changed since it was read, or a precondition does not hold. */
export class ConflictError extends Schema.TaggedError<ConflictError>()("ConflictError", facts) {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.detail}`
  }
}

/** 409 `AlreadyExists`. */
export class AlreadyExistsError extends Schema.TaggedError<AlreadyExistsError>()("AlreadyExistsError", facts) {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.detail}`
  }
}

/** 404, of the object, its namespace or its kind. */
export class NotFoundError extends Schema.TaggedError<NotFoundError>()("NotFoundError", facts) {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.detail}`
  }
}

/** Any other refusal. */
export class ApiRefusalError extends Schema.TaggedError<ApiRefusalError>()("ApiRefusalError", {
  ...facts,
  code: Schema.Number,
  reason: Schema.String,
  /** Reasons of `details.causes`, such as `NamespaceTerminating`. */
  causes: Schema.Array(Schema.String),
  retryAfterSeconds: Schema.optional(Schema.Number),
}) {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.code} ${this.detail}`
  }
}

/** No answer: refused or broken connections, deadlines. Whether the server has acted is unknown. */
export class ApiUnreachableError extends Schema.TaggedError<ApiUnreachableError>()("ApiUnreachableError", facts) {
  override get message(): string {
    return `${this.method} ${this.path}: ${this.detail}`
  }
}

/** Everything that an {@link ApiClient} call rejects with. */
export type ApiError = ConflictError | AlreadyExistsError | NotFoundError | ApiRefusalError | ApiUnreachableError

/** The error for a status that is not 2xx. */
export const errorOfStatus = (method: string, path: string, status: ApiStatus): ApiError => {
  const given = { method, path, detail: status.message }
  if (status.code === 404) return new NotFoundError(given)
  if (status.code === 409 && status.reason === "AlreadyExists") return new AlreadyExistsError(given)
  if (status.code === 409) return new ConflictError(given)
  return new ApiRefusalError({
    ...given,
    code: status.code,
    reason: status.reason,
    causes: status.causes.map(({ reason }) => reason),
    ...(status.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: status.retryAfterSeconds }),
  })
}

/** The namespace is going away: nothing will ever be created in it, so trying again is useless. */
export const isTerminatingNamespace = (error: unknown): boolean =>
  error instanceof ApiRefusalError && error.causes.includes("NamespaceTerminating")
