/**
 * Every error that a call of the API client rejects with: a closed union. One class for each refusal that callers handle differently,
 * {@link ApiRefusalError} for all others, {@link ApiUnreachableError} if there is no response.
 */

import * as Schema from "effect/Schema"
import type { ApiStatus } from "../status.ts"

/** The verb and the object of the request. */
const question = {
  /** As in RBAC rules, and `apply` for a server-side apply. */
  verb: Schema.String,
  /** `apps/v1.Deployment`. */
  kind: Schema.String,
  /** The empty string for cluster-scoped objects and for all namespaces. */
  namespace: Schema.String,
  /** The empty string for collections and generated names. */
  name: Schema.String,
}

const refusal = {
  ...question,
  /** HTTP status. */
  code: Schema.Number,
  /** Kubernetes' reason, such as `Forbidden`; may be empty. */
  reason: Schema.String,
  /** The server's message, one line, for people. */
  detail: Schema.String,
  /** `details.causes`: invalid fields, `NamespaceTerminating`, `DisruptionBudget`, … */
  causes: Schema.Array(
    Schema.Struct({
      reason: Schema.String,
      message: Schema.optional(Schema.String),
      field: Schema.optional(Schema.String),
    }),
  ),
  /** ms to wait before asking again, if the server says so. */
  retryAfterMs: Schema.optional(Schema.Number),
}

/** 401, even with fresh credentials. */
export class UnauthorizedError extends Schema.TaggedError<UnauthorizedError>()("UnauthorizedError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 403: not permitted, by RBAC, quota, admission, or because the namespace is terminating. */
export class ForbiddenError extends Schema.TaggedError<ForbiddenError>()("ForbiddenError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 404, of the object, its namespace or its kind. */
export class NotFoundError extends Schema.TaggedError<NotFoundError>()("NotFoundError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 409 `AlreadyExists`. */
export class AlreadyExistsError extends Schema.TaggedError<AlreadyExistsError>()("AlreadyExistsError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/**
 * 409 `Conflict`: the object changed since it was read, a precondition does not hold, or another field manager owns a field
 * that an apply sets (one cause of reason `FieldManagerConflict` for each).
 */
export class ConflictError extends Schema.TaggedError<ConflictError>()("ConflictError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 410: the server no longer has the resourceVersion or continue token asked for. */
export class ExpiredError extends Schema.TaggedError<ExpiredError>()("ExpiredError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 422: the object is not valid; the causes name the fields. */
export class InvalidError extends Schema.TaggedError<InvalidError>()("InvalidError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** 429: too many requests, or an eviction that a PodDisruptionBudget does not allow now (cause `DisruptionBudget`). */
export class TooManyRequestsError extends Schema.TaggedError<TooManyRequestsError>()("TooManyRequestsError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

/** Any other status than 2xx: 400, 405, 415, 500, 503, … */
export class ApiRefusalError extends Schema.TaggedError<ApiRefusalError>()("ApiRefusalError", refusal) {
  override get message(): string {
    return `${asked(this)}: ${this.code} ${this.detail}`
  }
}

/** No complete response: whether the server has acted is unknown, unless the failure is `credentials`. */
export class ApiUnreachableError extends Schema.TaggedError<ApiUnreachableError>()("ApiUnreachableError", {
  ...question,
  failure: Schema.Literals([
    /** No connection could be made, or it broke. */
    "connection",
    "deadline",
    /** Aborted by the caller's signal, or the client was closed. */
    "aborted",
    /** No credentials could be obtained. */
    "credentials",
    /** The response is too large, not HTTP, or not JSON. */
    "unreadable",
  ]),
  detail: Schema.String,
}) {
  override get message(): string {
    return `${asked(this)}: ${this.detail}`
  }
}

const asked = ({ verb, kind, namespace, name }: Question): string => {
  const place = [namespace, name].filter((part) => part !== "").join("/")
  return place === "" ? `${verb} ${kind}` : `${verb} ${kind} ${place}`
}

/** The facts of the request that every error carries. */
export interface Question {
  readonly verb: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

type RefusalError =
  | UnauthorizedError
  | ForbiddenError
  | NotFoundError
  | AlreadyExistsError
  | ConflictError
  | ExpiredError
  | InvalidError
  | TooManyRequestsError
  | ApiRefusalError

/** Every error that a call of the API client rejects with. */
export type ApiError = RefusalError | ApiUnreachableError

/** The error for a status that is not 2xx. */
export const refusalOf = (question: Question, status: ApiStatus): RefusalError => {
  const { code, reason, message, causes, retryAfterSeconds } = status
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterMs: retryAfterSeconds * 1000 }
  const facts = { ...question, code, reason, detail: message, causes, ...wait }
  switch (code) {
    case 401:
      return new UnauthorizedError(facts)
    case 403:
      return new ForbiddenError(facts)
    case 404:
      return new NotFoundError(facts)
    case 409:
      return reason === "AlreadyExists" ? new AlreadyExistsError(facts) : new ConflictError(facts)
    case 410:
      return new ExpiredError(facts)
    case 422:
      return new InvalidError(facts)
    case 429:
      return new TooManyRequestsError(facts)
    default:
      return new ApiRefusalError(facts)
  }
}

/** The namespace is terminating: nothing can be created in it any more, so a retry is useless. */
export const isTerminatingNamespace = (error: unknown): boolean =>
  error instanceof ForbiddenError && error.causes.some(({ reason }) => reason === "NamespaceTerminating")

/** The namespace is terminating or does not exist any more, so that nothing can be created in it. */
export const isEndedNamespace = (error: unknown): boolean =>
  isTerminatingNamespace(error) ||
  (error instanceof NotFoundError &&
    error.verb === "create" &&
    error.detail === `namespaces "${error.namespace}" not found`)

/** What was asked for; `undefined` if the server does not have it. */
export const unlessNotFound = async <T>(asked: Promise<T>): Promise<T | undefined> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof NotFoundError) return undefined
    throw error
  }
}
