/**
 * Admission, as a controller defines it: functions that the API server asks before it stores an object, and one that converts objects between the
 * versions of a CustomResourceDefinition.
 *
 * They run in the process of the controller, in every replica, with or without the lead. They get no client, because the API server calls them for dry
 * runs too, and more than once for one write: they may only look at what they are given and at what the controller watches.
 */

import type { ApiObject, ObjectBase } from "../../kube/index.ts"
import { parseGvk, parseLabelSelector } from "../../kube/offline.ts"
import {
  type AdmissionCall,
  type AdmissionTerms,
  longestTimeoutMs,
  type WebhookSelector,
} from "../admission/registration.ts"
import type { CachedObjects } from "./access/cached-objects.ts"

/** A write that the API server has not stored yet. */
export interface AdmissionRequest<T extends ObjectBase = ApiObject> {
  readonly operation: "CREATE" | "UPDATE" | "DELETE"
  /** As it would be stored; of a deletion, the object that would go. Its name is empty if the server generates one. */
  readonly object: T
  /** The stored object; `undefined` for a creation. */
  readonly oldObject: T | undefined
  /** Of the object; `undefined` for a cluster-scoped one. */
  readonly namespace: string | undefined
  /** Who asks. */
  readonly userInfo: {
    readonly username: string
    readonly uid?: string
    readonly groups?: ReadonlyArray<string>
    readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
  }
  /** Nothing is stored. */
  readonly dryRun: boolean
  /**
   * The objects that the controller watches. Throws NotWatchedError for a kind that the definition does not name, and an Error while its caches are not
   * complete; then the failure policy decides.
   */
  cached<R extends ObjectBase = ApiObject>(kind: string): CachedObjects<R>
  /** Aborted when the time of the review is over. */
  readonly signal: AbortSignal
}

/** More than a sentence about a write. */
export interface Verdict {
  /** Why the write is refused; absent: it is not. */
  readonly message?: string | undefined
  /** Status of the response to the client, 400 to 599. Default: 403, and 422 with a `field`. */
  readonly code?: number | undefined
  /** The field that is wrong, such as `spec.replicas`. */
  readonly field?: string | undefined
  /** Sentences that kubectl prints, whether the write is refused or not. */
  readonly warnings?: ReadonlyArray<string> | undefined
}

// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement returns void
type Answer<Value> = Value | undefined | void | Promise<Value | undefined | void>

/** Returns why the write is refused. What it throws, and time that is over, is no refusal: then the failure policy decides. */
export type Validate<T extends ObjectBase = ApiObject> = (request: AdmissionRequest<T>) => Answer<string | Verdict>

/**
 * Returns the object as it shall be, or changes the one that it gets, which is a copy. It must be idempotent: the API server asks again after other
 * webhooks have changed the object.
 */
export type Mutate<T extends ObjectBase = ApiObject> = (request: AdmissionRequest<T>) => Answer<T>

/**
 * Returns an object of the version `from` as one of the version `to`; both are names such as `v1beta1`. The host sets `apiVersion`. Nothing may be lost on
 * the way there and back, and of the metadata only labels and annotations may change. The API server has no other way to read an object that is stored in
 * another version: what this throws fails the read.
 */
export type Convert = (conversion: {
  readonly object: ApiObject
  readonly from: string
  readonly to: string
}) => ObjectBase | Promise<ObjectBase>

/** Which writes the functions are asked about, and what happens if they give no answer. */
export interface AdmissionSettings {
  /** Kinds besides that of `for`. */
  readonly kinds?: ReadonlyArray<string> | undefined
  /** Default: `CREATE` and `UPDATE`. */
  readonly operations?: ReadonlyArray<AdmissionRequest["operation"]> | undefined
  /**
   * `Fail`: writes are refused while no host answers. `Ignore`: they pass unchecked. Default `Fail`: a rule that does not hold while a process restarts is
   * none, and objects that it would have refused stay.
   */
  readonly failurePolicy?: "Fail" | "Ignore" | undefined
  /** ms that an answer may take, from 1 to 29,000. Default 5000: every write of the kind waits for it, and the API server's own limit is 30 s. */
  readonly timeoutMs?: number | undefined
  /** Default: the namespace of `for`, if it has one. */
  readonly namespaceSelector?: WebhookSelector | undefined
  /** Default: the label selector of `for`, if it has one. */
  readonly objectSelector?: WebhookSelector | undefined
  /** Conditions in CEL that all have to hold, which the API server evaluates before it asks. */
  readonly matchConditions?: AdmissionTerms["matchConditions"] | undefined
}

/** The members of a definition that are about admission. */
export interface AdmissionDefinition<T extends ObjectBase = ApiObject> {
  /** Asked about every write of the kind. One that is asked about updates is also asked when a finalizer is removed. */
  readonly validate?: Validate<T> | undefined
  /** Asked before {@link AdmissionDefinition.validate}. */
  readonly mutate?: Mutate<T> | undefined
  /** For a CustomResourceDefinition with several versions: that of the kind of `for`. */
  readonly convert?: Convert | undefined
  readonly admission?: AdmissionSettings | undefined
}

interface Defined extends Readonly<Partial<Record<AdmissionCall, unknown>>> {
  readonly admission?: AdmissionSettings | undefined
  readonly name: string
  readonly reconcile?: unknown
  readonly for: {
    readonly kind: string
    readonly namespace?: string | undefined
    readonly labelSelector?: string | undefined
  }
}

const calls: ReadonlyArray<AdmissionCall> = ["mutate", "validate", "convert"]

/** What the API server has to be told of a controller; `undefined` if it has no function for admission. */
export const admissionTermsOf = (controller: Defined): AdmissionTerms | undefined => {
  const defined = calls.filter((call) => controller[call] !== undefined)
  if (defined.length === 0) return undefined
  const { name, for: subject, admission = {} } = controller
  const { kinds = [], operations = ["CREATE", "UPDATE"], failurePolicy = "Fail", timeoutMs = 5000 } = admission
  return {
    controller: name,
    calls: defined,
    kinds: [subject.kind, ...kinds],
    operations,
    failurePolicy,
    timeoutMs,
    namespaceSelector: admission.namespaceSelector ?? {
      ...(subject.namespace && { matchLabels: { "kubernetes.io/metadata.name": subject.namespace } }),
    },
    objectSelector: admission.objectSelector ?? selectorOf(subject.labelSelector ?? ""),
    matchConditions: admission.matchConditions ?? [],
  }
}

/** Requirements as the API has them: `a=b,c in (d,e),!f`. */
const selectorOf = (text: string): WebhookSelector => {
  const parsed = parseLabelSelector(text)
  return "problem" in parsed || parsed.length === 0 ? {} : { matchExpressions: parsed }
}

/** What is wrong with the admission of a definition. */
export const admissionProblem = (defined: Defined): string | undefined => {
  const { admission } = defined
  const terms = admissionTermsOf(defined)
  if (terms === undefined && defined.reconcile === undefined)
    return "it has none of reconcile, validate, mutate and convert"
  if (terms === undefined)
    return admission === undefined ? undefined : "it has admission, but neither validate nor mutate"
  const stray = terms.kinds.find((kind) => parseGvk(kind) === undefined)
  if (stray !== undefined) return `admission.kinds: ${JSON.stringify(stray)} is not a kind such as v1.Pod`
  const { timeoutMs } = terms
  return timeoutMs >= 1 && timeoutMs <= longestTimeoutMs
    ? undefined
    : `admission.timeoutMs is ${timeoutMs}: it must be from 1 to ${longestTimeoutMs}`
}
