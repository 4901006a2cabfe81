/**
 * What a controller is: which objects it is for, which others concern it, and a function that brings one object's world
 * into the state that it asks for (an example is in `index.ts`). `reconcile` gets the object to look at, never what has
 * happened, so it must compare and correct, and may be called at any time.
 */

import { isDeepStrictEqual } from "node:util"
import type { Effect } from "effect/Effect"
import type { ApiObject, ObjectBase } from "../../kube/index.ts"
import { parseGvk, parseLabelSelector, qualifiedNameComplaints, subdomainComplaints } from "../../kube/offline.ts"
import type { ObjectChange } from "../cache/change-feed.ts"
import type { CachedObjects, ObjectName } from "./access/cached-objects.ts"
import type { ControllerCluster } from "./access/controller-cluster.ts"
import { type AdmissionDefinition, admissionProblem } from "./define-admission.ts"
import { InvalidControllerError } from "./errors.ts"

/** Objects to watch. Whatever is absent does not restrict. */
export interface Selection {
  /** `v1.Pod`, `apps/v1.Deployment`, `slinky.dev/v1.SimplePod`. One that is not installed is waited for. */
  readonly kind: string
  /** Default: all namespaces, for which the controller needs a ClusterRole. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /**
   * Whether its objects need `metadata.managedFields`. Default false: under `reel host` the shared watches leave them out, and a selection that has them
   * costs a watch of its own. In a program of its own objects always have them.
   */
  readonly managedFields?: boolean | undefined
}

/** The objects that a controller is for. */
export interface Subject<T extends ObjectBase = ApiObject> extends Selection {
  /** Which changes lead to a run. Default: all. */
  readonly predicate?: Predicate<T> | undefined
}

/** Objects whose owner references lead to the controller's objects. */
export interface Owned extends Selection {
  predicate?(change: Parameters<Predicate>[0]): boolean
  /** Any owner of the controller's kind is woken, not only the controlling one. Default false. */
  readonly matchEveryOwner?: boolean | undefined
}

/** Other objects that concern the controller's. */
export interface Watch<T extends ObjectBase = ApiObject> extends Selection {
  predicate?(change: Parameters<Predicate<T>>[0]): boolean
  /**
   * The objects to look at because this one has changed: keys (`namespace/name`) or names. It is called for the state before and after. It must be quick, and
   * may read what the controller watches. If it throws, that is reported, and the change wakes nothing.
   */
  map(object: T, reads: Reads): Iterable<string | ObjectName>
}

/** Cached reads. */
export interface Reads {
  /** Throws NotWatchedError for a kind that the definition does not name. */
  cached<T extends ObjectBase = ApiObject>(kind: string): CachedObjects<T>
}

/** An index over watched objects, for {@link CachedObjects.byIndex}. */
export interface Index<T extends ObjectBase = ApiObject> {
  readonly kind: string
  readonly name: string
  /** None, one or several values, which depend on nothing but the object. If it throws, that is reported, and the object is not in the index. */
  valuesOf(object: T): Iterable<string>
}

/** What the controller writes, for `rulesOf`; nothing else depends on it. */
export interface Write {
  /** `v1.Pod`, or with a subresource `v1.Pod/status`. */
  readonly kind: string
  /** Default: `create`, `update`, `patch`, `delete`; for a subresource `update` and `patch`. */
  readonly verbs?: ReadonlyArray<string> | undefined
  /** Default: that of the subject. */
  readonly namespace?: string | undefined
}

/** What a run is given. */
export interface Reconciliation<T extends ObjectBase = ApiObject> {
  /** `namespace/name`, or the bare name of a cluster-scoped object. */
  readonly key: string
  /** Absent for a cluster-scoped object. */
  readonly namespace: string | undefined
  readonly name: string
  /** Its present state, read-only. `undefined`: there is none, or it is outside of the controller's selection. */
  readonly object: T | undefined
  readonly cluster: ControllerCluster
  /**
   * Aborted when the run should end: leadership is lost, the time of the run or of the shutdown is over. Requests of `cluster` are bound to it already; pass
   * it on to others.
   */
  readonly signal: AbortSignal
}

/** The outcome of a run that did not throw. */
export interface ReconcileResult {
  /** Look at the object again after this many ms, at least 1, even if nothing changes. */
  readonly requeueAfterMs?: number | undefined
}

/** An Error that is returned counts as one that is thrown. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement returns void
type Outcome = ReconcileResult | Error | undefined | void

/**
 * Plain, async, or an Effect without requirements, which is interrupted when the signal is aborted. A failure is reported and retried with client-go's
 * back-off (5 ms, doubled up to 1,000 s); a conflict is retried without a report, because the newer state is on its way; {@link TerminalError} is not retried.
 */
export type Reconcile<T extends ObjectBase = ApiObject> = (
  reconciliation: Reconciliation<T>,
) => Outcome | Promise<Outcome> | Effect<Outcome, unknown>

/** Keeps an object that is deleted until everything outside of the cluster's garbage collection is cleaned up. */
export interface FinalizerDefinition<T extends ObjectBase = ApiObject> {
  /** `example.com/name`. */
  readonly name: string
  /**
   * Runs instead of `reconcile` when the object is being deleted; afterwards the finalizer is removed. With `requeueAfterMs` the clean-up is not finished: it is
   * called again then. It is also called again after a failure or a crash, so it must find its work done.
   */
  readonly cleanUp: (reconciliation: Reconciliation<T> & { readonly object: T }) => ReturnType<Reconcile<T>>
}

/** Whatever type a function of the definition gives to the objects of a watched kind, such as `({ spec }: Pod) => …`. */
// biome-ignore lint/suspicious/noExplicitAny: nothing else is assignable to every kind's interface
type Declared = any

export interface ControllerDefinition<T extends ObjectBase = ApiObject> extends AdmissionDefinition<T> {
  /**
   * A DNS name such as `simplepod`, unique in a process: the field manager of all writes, the source of Events, the name in statistics. Changing it
   * disowns the fields that were applied before.
   */
  readonly name: string
  /** The kind whose objects are reconciled, or a selection of it. */
  readonly for: string | Subject<T>
  /** Kinds of which the controller makes objects; a change of one wakes its owner. Default namespace: that of `for`. */
  readonly owns?: ReadonlyArray<string | Owned> | undefined
  readonly watches?: ReadonlyArray<Watch<Declared>> | undefined
  /** Kinds that are only read: cached, but waking nothing. */
  readonly reads?: ReadonlyArray<string | Selection> | undefined
  readonly indexes?: ReadonlyArray<Index<Declared>> | undefined
  readonly writes?: ReadonlyArray<string | Write> | undefined
  /** Added to every object before the first `reconcile` of it, so that no crash leaves anything behind. */
  readonly finalizer?: FinalizerDefinition<T> | undefined
  /** Absent: nothing of `for` is watched, and the controller only answers for admission. */
  readonly reconcile?: Reconcile<T> | undefined
  /**
   * Keeps on disk which objects of `for`, `owns` and `watches` the controller knows, so that it learns of deletions
   * that happen while its process is down or restarts, for which a finalizer would be too much or is not its to add.
   * Needs `checkpoint` in the options of `runControllers`. Default false: a controller that only looks at what exists
   * needs none.
   */
  readonly checkpoint?: boolean | undefined
  /** Objects reconciled at once; never twice the same. Default 5, as the controllers of Kubernetes; controller-runtime's is 1. */
  readonly concurrency?: number | undefined
  /** ms after which a run's signal is aborted. Default: never. The key stays busy until the run has really ended. */
  readonly reconcileTimeoutMs?: number | undefined
}

/** A checked definition, for `runControllers`. */
export interface DefinedController
  extends Omit<ControllerDefinition, "for" | "owns" | "reads" | "writes" | "concurrency"> {
  readonly for: Subject
  readonly owns: ReadonlyArray<Owned>
  readonly watches: ReadonlyArray<Watch>
  readonly reads: ReadonlyArray<Selection>
  readonly indexes: ReadonlyArray<Index>
  readonly writes: ReadonlyArray<Write>
  readonly concurrency: number
}

const members: Readonly<Record<keyof ControllerDefinition, true>> = {
  ...{ name: true, for: true, owns: true, watches: true, reads: true, indexes: true, writes: true, finalizer: true },
  ...{ reconcile: true, checkpoint: true, concurrency: true, reconcileTimeoutMs: true },
  ...{ validate: true, mutate: true, convert: true, admission: true },
}

/** Types find this too, but the host does not check them. */
const unknownMember = (definition: object): string | undefined => {
  const unknown = Object.keys(definition).find((name) => !Object.hasOwn(members, name))
  return unknown === undefined
    ? undefined
    : `it has no member ${JSON.stringify(unknown)}; its members are ${Object.keys(members).join(", ")}`
}

/** Checks a definition. Throws {@link InvalidControllerError}. */
export const defineController = <T extends ObjectBase = ApiObject>(
  definition: ControllerDefinition<T>,
): DefinedController => {
  const { name, concurrency = 5, watches = [], indexes = [], ...rest } = definition
  const subject: Subject<T> = selectionOf(definition.for)
  const { namespace } = subject
  const defined = {
    ...rest,
    name,
    for: subject,
    owns: (definition.owns ?? []).map((owned) => ({ namespace, ...selectionOf<Owned>(owned) })),
    watches,
    reads: (definition.reads ?? []).map((read) => selectionOf<Selection>(read)),
    indexes,
    writes: (definition.writes ?? []).map((write) => ({ namespace, ...selectionOf<Write>(write) })),
    concurrency,
  }
  const problem = unknownMember(definition) ?? problemOf(defined) ?? admissionProblem(defined)
  if (problem !== undefined) throw new InvalidControllerError({ controller: String(name), problem })
  // Only the author of the controller knows the type of its objects. The code that runs it passes them on unread.
  return Object.freeze(defined) as unknown as DefinedController
}

/** All selections that are watched for the controller. */
export const selectionsOf = (controller: DefinedController): ReadonlyArray<Selection> => [
  ...(controller.reconcile === undefined ? [] : [controller.for]),
  ...controller.owns,
  ...controller.watches,
  ...controller.reads,
]

const selectionOf = <S extends { readonly kind: string }>(given: string | S): S =>
  typeof given === "string" ? ({ kind: given } as S) : given

type Checked = Pick<DefinedController, "name" | "owns" | "watches" | "reads" | "indexes" | "writes" | "concurrency"> & {
  readonly for: Selection
  readonly finalizer?: { readonly name: string } | undefined
  readonly reconcile?: unknown
  readonly reconcileTimeoutMs?: number | undefined
}

const problemOf = (defined: Checked): string | undefined => {
  const [complaint] = subdomainComplaints(defined.name)
  if (complaint !== undefined) return `its name is not a DNS name: ${complaint}`
  const selections: ReadonlyArray<Selection> = [defined.for, ...defined.owns, ...defined.watches, ...defined.reads]
  for (const { kind, labelSelector = "" } of selections) {
    const parsed = parseLabelSelector(labelSelector)
    if (parseGvk(kind) === undefined)
      return `${JSON.stringify(kind)} is not a kind such as v1.Pod or apps/v1.Deployment`
    if ("problem" in parsed) return `label selector ${JSON.stringify(labelSelector)}: ${parsed.problem}`
  }
  for (const { kind } of defined.writes)
    if (parseGvk(kind.replace(/\/[a-z]+$/, "")) === undefined)
      return `${JSON.stringify(kind)} is not a kind such as v1.Pod, or a subresource such as v1.Pod/status`
  const watched = new Set(selections.map(({ kind }) => kind))
  const stray = defined.indexes.find(({ kind }) => !watched.has(kind))
  if (stray !== undefined)
    return `the index ${JSON.stringify(stray.name)} is over ${stray.kind}, which it does not watch`
  const { finalizer, concurrency, reconcileTimeoutMs = 1 } = defined
  if (finalizer !== undefined && !finalizer.name.includes("/"))
    return `the finalizer ${JSON.stringify(finalizer.name)} must be qualified, such as example.com/clean-up`
  const [fault] = finalizer === undefined ? [] : qualifiedNameComplaints(finalizer.name)
  if (fault !== undefined) return `the finalizer ${JSON.stringify(finalizer?.name)}: ${fault}`
  if (!Number.isInteger(concurrency) || concurrency < 1) return `concurrency is ${concurrency}: it must be at least 1`
  return reconcileTimeoutMs > 0 ? undefined : `reconcileTimeoutMs is ${reconcileTimeoutMs}: it must be more than 0`
}

/**
 * Which changes of an object wake a controller, by the names and rules of controller-runtime: those below let additions and deletions pass, and judge
 * changes of known objects. A predicate only saves work: it sees the last two states that this process knows.
 *
 * `previous` is absent for an object that was not known, `current` for one that is gone. Returns whether the change counts.
 */
export type Predicate<T extends ObjectBase = ApiObject> = (change: ObjectChange<T>) => boolean

const whenBoth =
  (differs: (previous: ObjectBase, current: ObjectBase) => boolean): Predicate =>
  ({ previous, current }) =>
    previous === undefined || current === undefined || differs(previous, current)

/**
 * The spec has changed, or the deletion began: the server counts both in `metadata.generation`. For kinds that have generations: custom ones (those with a
 * `status` subresource count only the spec) and most built-in ones, but not ConfigMaps, Secrets and the like, for which it would never pass.
 */
export const generationChanged: Predicate = whenBoth(
  (previous, current) => previous.metadata.generation !== current.metadata.generation,
)

export const labelsChanged: Predicate = whenBoth(
  (previous, current) => !isDeepStrictEqual(previous.metadata.labels ?? {}, current.metadata.labels ?? {}),
)

export const annotationsChanged: Predicate = whenBoth(
  (previous, current) => !isDeepStrictEqual(previous.metadata.annotations ?? {}, current.metadata.annotations ?? {}),
)

/** At least one of them passes. */
export const anyOf =
  <T extends ObjectBase = ApiObject>(...predicates: ReadonlyArray<Predicate<T>>): Predicate<T> =>
  (change) =>
    predicates.some((passes) => passes(change))

/** All of them pass. */
export const allOf =
  <T extends ObjectBase = ApiObject>(...predicates: ReadonlyArray<Predicate<T>>): Predicate<T> =>
  (change) =>
    predicates.every((passes) => passes(change))
