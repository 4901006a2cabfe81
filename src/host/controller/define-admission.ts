/**
 * Admission, as a controller defines it: functions that the API server asks before it stores an object, and one that converts custom objects.
 *
 * They run in every replica, with or without the lead. They get no client, because the API server asks for dry runs too, and more than once for one write:
 * they may only look at what they are given and at what the controller watches.
 */
import type { ApiObject, ObjectBase, SelectorObject } from "../../kube/index.ts"
import { parseGvk, parseLabelSelector } from "../../kube/offline.ts"
import type { AdmissionCall, AdmissionTerms } from "../admission/registration.ts"
import type { CachedObjects } from "./access/cached-objects.ts"

/** A write that the API server has not stored yet. */
export interface AdmissionRequest<T extends ObjectBase = ApiObject> {
  readonly operation: "CREATE" | "UPDATE" | "DELETE"
  /** As it would be stored; of a deletion, the object that would go. Its name is empty if the server generates one. */
  readonly object: T
  /** The stored object; `undefined` for a creation. */
  readonly oldObject: T | undefined
  /** Who asks. */
  readonly userInfo: {
    readonly username: string
    readonly uid?: string
    readonly groups?: ReadonlyArray<string>
    readonly extra?: Readonly<Record<string, ReadonlyArray<string>>>
  }
  /** Nothing is stored. */
  readonly dryRun: boolean
  /** What the controller watches. Throws NotWatchedError, and an Error while its caches are not complete; then the failure policy decides. */
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

/** The members of a definition that are about admission. */
export interface AdmissionDefinition<T extends ObjectBase = ApiObject> {
  /**
   * Asked about every write of the kind, also when a finalizer is removed. Returns why it is refused. What it throws, and time that is over, are no refusal:
   * then the failure policy decides.
   */
  validate?(request: AdmissionRequest<T>): Answer<string | Verdict>
  /** Asked before `validate`. Returns the object as it shall be, or changes the copy that it gets. It must be idempotent: the API server may ask again. */
  mutate?(request: AdmissionRequest<T>): Answer<T>
  /**
   * Returns an object of the version `from` (such as `v1beta1`) as one of the version `to`, for the CustomResourceDefinition of the kind of `for`. The host
   * sets `apiVersion`. Nothing may be lost on the way there and back, and of the metadata only labels and annotations may change. What it throws fails the
   * read or the write that needs it.
   */
  convert?(conversion: { object: ApiObject; from: string; to: string }): ObjectBase | Promise<ObjectBase>
  /** Which writes `validate` and `mutate` are asked about, and what happens if they give no answer. */
  readonly admission?: AdmissionSettings | undefined
}

interface AdmissionSettings {
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
  readonly namespaceSelector?: SelectorObject | undefined
  /** Default: the label selector of `for`, if it has one. */
  readonly objectSelector?: SelectorObject | undefined
  /** Conditions in CEL that all have to hold, which the API server evaluates before it asks. */
  readonly matchConditions?: ReadonlyArray<{ readonly name: string; readonly expression: string }> | undefined
}

interface Defined extends Readonly<Partial<Record<AdmissionCall | "reconcile", unknown>>> {
  readonly name: string
  readonly admission?: AdmissionSettings | undefined
  readonly for: { kind: string; namespace?: string | undefined; labelSelector?: string | undefined }
}

/** What the API server has to be told of a controller; `undefined` if it has no function for admission. */
export const admissionTermsOf = (controller: Defined): AdmissionTerms | undefined => {
  const calls = (["mutate", "validate", "convert"] as const).filter((call) => controller[call] !== undefined)
  if (calls.length === 0) return undefined
  const { name, for: subject, admission = {} } = controller
  const { kinds = [], operations = ["CREATE", "UPDATE"], failurePolicy = "Fail", timeoutMs = 5000 } = admission
  const { matchConditions = [], namespaceSelector, objectSelector } = admission
  const requirements = parseLabelSelector(subject.labelSelector ?? "")
  const members = {
    failurePolicy,
    namespaceSelector: namespaceSelector ?? {
      ...(subject.namespace && { matchLabels: { "kubernetes.io/metadata.name": subject.namespace } }),
    },
    objectSelector: objectSelector ?? { ...(!("problem" in requirements) && { matchExpressions: requirements }) },
    ...(matchConditions.length > 0 && { matchConditions }),
  }
  return { controller: name, calls, kinds: [subject.kind, ...kinds], operations, timeoutMs, members }
}

/** What is wrong with the admission of a definition. */
export const admissionProblem = (defined: Defined): string | undefined => {
  const terms = admissionTermsOf(defined)
  if (terms === undefined && defined.reconcile === undefined) return "it has no reconcile, validate, mutate or convert"
  const stray = terms?.kinds.find((kind) => parseGvk(kind) === undefined)
  if (stray !== undefined) return `admission.kinds: ${JSON.stringify(stray)} is not a kind such as v1.Pod`
  const { timeoutMs = 1 } = terms ?? {}
  return timeoutMs >= 1 && timeoutMs <= 29_000
    ? undefined
    : `admission.timeoutMs is ${timeoutMs}: it must be from 1 to 29000`
}
