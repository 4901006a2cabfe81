/**
 * The cluster as one controller sees it: cached reads, and writes under its name as field manager, whose outcome is in the caches before the promise
 * resolves. Objects that are returned are read-only, as those of the cache are.
 *
 * When the controller has to stop, every later write and live read rejects with {@link ApiUnreachableError} of failure `aborted`; a write under way may
 * still happen. All requests reject with {@link ApiError}. Nothing is retried here: the queue retries the key.
 */

import { isDeepStrictEqual } from "node:util"
import {
  type ApiClient,
  type ApiObject,
  type DeleteOptions,
  type Kind,
  type ListOptions,
  NotFoundError,
  type ObjectBase,
  type PatchType,
} from "../../../kube/index.ts"

import type { GroupVersionKind } from "../../../kube/offline.ts"
import type { AppliedObjects } from "./applied-objects.ts"
import { type CachedObjects, frozen, type ObjectName } from "./cached-objects.ts"
import type { EventRecorder, EventType } from "./event-recorder.ts"
import { asGvk, type KindResolver } from "./kind-resolver.ts"
import type { SharedCaches } from "./shared-caches.ts"

/** What all controllers of a process share. */
export interface SharedAccess {
  readonly api: ApiClient
  readonly kinds: KindResolver
  readonly caches: SharedCaches
  readonly events: EventRecorder
  /** Now, in RFC 3339 with whole seconds. */
  readonly now: () => string
}

/** An object to create or apply: what the server fills in may be absent. */
export interface NewObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Partial<ApiObject["metadata"]>
  readonly [member: string]: unknown
}

/** Of an apply. */
interface ControllerApplyOptions {
  /**
   * Takes fields over from other managers. Default true, as Kubernetes recommends for controllers: they cannot ask anyone to solve a conflict.
   */
  readonly force?: boolean
  /** For example `status`. */
  readonly subresource?: string
}

/** What an Event may say besides. */
export interface EventDetails {
  /** What was done or failed, in one word. Default: none. */
  readonly action?: string | undefined
  /** Whom the Event names as its source. Default: the controller. */
  readonly component?: string | undefined
}

interface ControllerClusterOptions {
  readonly controller: string
  readonly access: SharedAccess
  readonly signal: AbortSignal
  /** Throws NotWatchedError. */
  readonly cachedOf: (kind: string) => CachedObjects<ApiObject>
  readonly applied: AppliedObjects
}

export class ControllerCluster {
  /** Aborted when the controller has to stop. */
  readonly signal: AbortSignal
  readonly #controller: string
  readonly #access: SharedAccess
  readonly #cachedOf: (kind: string) => CachedObjects<ApiObject>
  readonly #applied: AppliedObjects

  constructor({ controller, access, signal, cachedOf, applied }: ControllerClusterOptions) {
    this.signal = signal
    this.#controller = controller
    this.#access = access
    this.#cachedOf = cachedOf
    this.#applied = applied
  }

  /** The untyped client beneath, for what is missing here. Its writes are not in the caches before the watch delivers them. */
  get api(): ApiClient {
    return this.#access.api
  }

  /** The resource of a kind such as `apps/v1.Deployment`, for {@link api}. Rejects with {@link NotFoundError} if it is not installed. */
  async kind(name: string | GroupVersionKind): Promise<Kind> {
    return this.#access.kinds.find(typeof name === "string" ? asGvk(name) : name)
  }

  /** Now, in RFC 3339 with whole seconds, as conditions and Events have it. */
  now(): string {
    return this.#access.now()
  }

  /** The watched objects of a kind such as `v1.Pod`. Throws {@link NotWatchedError} for one that the definition does not name. */
  cached<T extends ObjectBase = ApiObject>(kind: string): CachedObjects<T> {
    // The caller that names a kind knows its shape.
    return this.#cachedOf(kind) as unknown as CachedObjects<T>
  }

  /** Reads from the server, past the cache; for kinds that are not watched, or when the latest state matters. */
  async getLive<T extends ObjectBase = ApiObject>(kind: string, name: ObjectName): Promise<T> {
    return this.api.get<T>(await this.kind(kind), name, { signal: this.signal })
  }

  /** Lists from the server, past the cache, all pages. */
  async listLive<T extends ObjectBase = ApiObject>(kind: string, options: ListOptions = {}): Promise<ReadonlyArray<T>> {
    const { items } = await this.api.list<T>(await this.kind(kind), { ...options, signal: this.signal })
    return items
  }

  /** Rejects with {@link AlreadyExistsError} if the name is taken. Without a name the server generates one from `generateName`. */
  async create<T extends ObjectBase = ApiObject>(object: NewObject): Promise<T> {
    const named = { ...object, metadata: { name: "", ...object.metadata } }
    return this.#enter(await this.api.create(await this.#kindOf(object), named, this.#write())) as unknown as T
  }

  /** Replaces the object. Rejects with {@link ConflictError} if it has changed since it was read. */
  async update<T extends ObjectBase = ApiObject>(object: T): Promise<T> {
    return this.#enter(await this.api.update(await this.#kindOf(object), object, this.#write()))
  }

  /** Replaces the status; the rest of the object does not count. Rejects with {@link ConflictError} if it has changed since it was read. */
  async updateStatus<T extends ObjectBase = ApiObject>(object: T): Promise<T> {
    return this.#enter(await this.api.updateStatus(await this.#kindOf(object), object, this.#write()))
  }

  /**
   * Sets members of the status and leaves the others; sends nothing if all of them are so already. No other writer can conflict: the last one wins for
   * each member. `undefined` and `null` remove a member. Returns the object as it is then.
   */
  async patchStatus<T extends ObjectBase = ApiObject>(
    object: T,
    status: Readonly<Record<string, unknown>>,
  ): Promise<T> {
    const present = ((object as { readonly status?: unknown }).status ?? {}) as Readonly<Record<string, unknown>>
    const changed = Object.entries(status).filter(
      ([member, value]) => !isDeepStrictEqual(present[member] ?? null, value ?? null),
    )
    if (changed.length === 0) return object
    const body = Object.fromEntries(changed.map(([member, value]) => [member, value ?? null]))
    return this.patch(object, "merge", { metadata: { uid: object.metadata.uid }, status: body }, "status")
  }

  /** `subresource`: for example `status` or `scale`. */
  async patch<T extends ObjectBase = ApiObject>(
    object: T,
    type: PatchType,
    body: unknown,
    subresource?: string,
  ): Promise<T> {
    const options = subresource === undefined ? this.#write() : { ...this.#write(), subresource }
    const kind = await this.#kindOf(object)
    const patched = await this.api.patch<T>(kind, object.metadata, type, body, options)
    // Of `scale` and the like, another kind is returned.
    return patched.kind === object.kind && patched.apiVersion === object.apiVersion
      ? this.#enter(patched)
      : frozen(patched)
  }

  /**
   * Server-side apply: creates the object, or sets exactly these fields and removes those that this controller applied before and no longer gives. Give
   * only what the controller decides, not an object that was read. Of a kind that is watched, nothing is sent if this process has applied the same before
   * and the cached object still has it; then that is returned, unless the run has been aborted.
   */
  async apply<T extends ObjectBase = ApiObject>(object: NewObject, options: ControllerApplyOptions = {}): Promise<T> {
    const { force = true, subresource } = options
    const application = { object, force, subresource }
    const current = this.signal.aborted ? undefined : this.#applied.current(application)
    if (current !== undefined) return current as unknown as T
    const { name = "", namespace } = object.metadata
    const place = { name, namespace }
    const write = { ...this.#write(), force, ...(subresource !== undefined && { subresource }) }
    const kind = await this.#kindOf(object)
    const succeeded = this.#applied.begin(application)
    const applied = await this.api.apply<T>(kind, place, object, write)
    succeeded(applied)
    return this.#enter(applied)
  }

  /** One that is gone already counts as deleted. The UID guards against deleting a new object of the same name. */
  async delete(object: ObjectBase, options: Omit<DeleteOptions, "signal"> = {}): Promise<void> {
    const { uid } = object.metadata
    const guarded = { ...(uid !== undefined && { uid }), ...options, signal: this.signal }
    try {
      const left = await this.api.delete(await this.#kindOf(object), object.metadata, guarded)
      if (left === undefined) this.#access.caches.removed(object)
      else if (options.dryRun !== true) this.#enter(left)
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
      this.#access.caches.removed(object)
    }
  }

  /** Adds a finalizer unless the object has it. Rejects with {@link ConflictError} if the object has changed since it was read. */
  async addFinalizer<T extends ObjectBase = ApiObject>(object: T, finalizer: string): Promise<T> {
    const present = object.metadata.finalizers ?? []
    return present.includes(finalizer) ? object : this.#setFinalizers(object, [...present, finalizer])
  }

  /** Removes a finalizer; with the last one, an object that is being deleted is gone. One that is gone already is fine. */
  async removeFinalizer(object: ObjectBase, finalizer: string): Promise<void> {
    const present = object.metadata.finalizers ?? []
    if (!present.includes(finalizer)) return
    try {
      const others = present.filter((other) => other !== finalizer)
      const { metadata } = await this.#setFinalizers(object, others)
      const isLast = metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
      // Otherwise the object would stay in the cache until the watch reports its end, and be cleaned up again.
      if (isLast && (metadata.deletionGracePeriodSeconds ?? 0) === 0) this.#access.caches.removed(object)
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error
      this.#access.caches.removed(object)
    }
  }

  /** Records an Event about the object. Never waits and never fails; equal ones are counted in one Event. */
  event(object: ObjectBase, type: EventType, reason: string, message: string, details: EventDetails = {}): void {
    if (this.signal.aborted) return
    const { component = this.#controller, action } = details
    const event = { object, type, reason, message, ...(action !== undefined && { action }) }
    this.#access.events.record({ component }, event)
  }

  #setFinalizers<T extends ObjectBase = ApiObject>(object: T, finalizers: ReadonlyArray<string>): Promise<T> {
    const { uid, resourceVersion } = object.metadata
    // The version guards the list: another controller may have added its own finalizer meanwhile.
    return this.patch(object, "merge", { metadata: { uid, resourceVersion, finalizers } })
  }

  #kindOf({ apiVersion, kind }: NewObject | ObjectBase): Promise<Kind> {
    return this.#access.kinds.find(asGvk(`${apiVersion}.${kind}`))
  }

  #write(): { readonly fieldManager: string; readonly signal: AbortSignal } {
    return { fieldManager: this.#controller, signal: this.signal }
  }

  #enter<T extends ObjectBase = ApiObject>(object: T): T {
    this.#access.caches.wrote(object)
    return frozen(object)
  }
}
