/**
 * The embedded API server: an in-memory store that clients read, watch and write over HTTP, and that tests and
 * benchmarks also change by plain method calls. What a client can see is modelled on Kubernetes 1.34.4 and compared
 * with its responses.
 *
 * Code of this process has two ways to write. `put` and `delete` set states unchecked and never fail because of an
 * object's content; `request` is a client's write, with admission, defaults, validation, field ownership and all
 * refusals.
 *
 * Guaranteed: one revision counter for all kinds; a watch delivers every change after its start in order, each exactly
 * once, as one chunk; all watchers get the same bytes; control calls take effect before they return (the events have
 * been written to the watchers' sockets). Not provided: the list in writes/not-implemented.ts.
 *
 * Under overload: `put` never waits for watchers. Without `slowReaderLimit` their unread lines stay in memory.
 */

import type { Duplex } from "node:stream"
import {
  type ApiServer,
  builtinResources,
  type Change,
  compact,
  type Eventually,
  type GvkName,
  type KubernetesObject,
  type RequestLog,
  type Resource,
  ResourceRegistry,
  type StoredObject,
  spaced,
  warnProcess,
} from "../apiserver/index.ts"
import { systemClock } from "../clock.ts"
import type { ApiEndpoint } from "../kube/index.ts"
import type { SandboxUser } from "./access/authentication.ts"
import { assembleBackend } from "./assembly.ts"
import type { Faults } from "./faults/faults.ts"
import { type FaultyServer, type FaultyServerOptions, listenWithFaults } from "./faults/faulty-server.ts"
import { ClusterLife } from "./lifecycle/cluster-life.ts"
import { putDefaultPolicy } from "./lifecycle/default-policy.ts"
import { GarbageCollector } from "./lifecycle/garbage-collector.ts"
import { answerLocally, type LocalAnswer, type LocalRequest, type RequestTarget, targetOf } from "./local-request.ts"
import { Ledger, type LedgerMode } from "./store/ledger.ts"
import { ObjectStore } from "./store/object-store.ts"
import { type KindedObject, lowerRevision, replaceCluster, restoreBackup, type Survivors } from "./store/past.ts"
import { ServedKinds } from "./store/served-kinds.ts"
import { type Randomness, systemRandomness } from "./store/stamps.ts"
import type { StoreBackend } from "./store-backend.ts"
import { receiveWrite } from "./writes/request/write-request.ts"
import type { WriteSurroundings } from "./writes/surroundings.ts"
import type { OwnWebhooks } from "./writes/webhooks/webhook-caller.ts"

/** Garbage collection by ownerReferences and nothing else, for a store whose objects also come from elsewhere. */
export interface PartialLifecycle {
  /** Whether the garbage collector may touch the object with that UID. */
  readonly collects: (uid: string) => boolean
}

export interface SandboxOptions extends FaultyServerOptions {
  /**
   * `rbac`: requests over HTTP are authenticated and authorized as by the real server, with its default roles. The
   * option `token`, or one that the sandbox chooses ({@link Sandbox.token}), then is that of a user who may do
   * everything; others are made of `users`, ServiceAccounts and client certificates, and who shows nothing is
   * `system:anonymous`. Clients on client-go send tokens over HTTPS only, which needs the option `tls`. Default: none,
   * and every client may do everything.
   */
  readonly authorization?: "rbac"
  /** Users whom authorization knows by a token. Default: none. */
  readonly users?: ReadonlyArray<SandboxUser>
  /** Send JSON with a space after every `:` and `,`, including watch lines. Default false. */
  readonly pretty?: boolean
  /**
   * Changes kept per kind for watches that resume; older versions get a 410. Default 100,000 (50 s at 2,000 events/s).
   */
  readonly historyLimit?: number
  /** The content of ledger entries. Default `objects`. */
  readonly ledger?: LedgerMode
  /**
   * Do what a real cluster's controllers do for the API server itself: default ServiceAccounts, the contents of deleted
   * namespaces, garbage collection by ownerReferences, the expiry of Events, taints of Nodes that are not ready.
   * Default false: only requested changes happen, as in an API server by itself.
   */
  readonly lifecycle?: boolean | PartialLifecycle
  /** Answers reviews for URLs of admission webhooks in this process, in place of a request. Default: none. */
  readonly ownWebhooks?: OwnWebhooks | undefined
  /** The source of UIDs and generated names. Default: the machine's. */
  readonly random?: Randomness
  /** Revision before the first change. Default 1000, so that a restore can go back to a lower one. */
  readonly revision?: number | bigint
}

export interface RestartOptions {
  /**
   * `same` (default): the connections drop, nothing else. `lower`: etcd restored from a backup, half way back. A
   * number: restored at (or advanced to) that revision. `new`: another cluster, starting at revision 1.
   */
  readonly revision?: "same" | "lower" | "new" | number | bigint
  /**
   * After a restore: absent means the state of exactly that revision, which the history must still hold; true keeps
   * all live objects, under versions that are not above the revision; false keeps the Namespaces only. With another
   * cluster: true creates all objects again; false, the default, starts empty.
   */
  readonly keepObjects?: boolean
  /** Objects that a restore puts back into the given state. */
  readonly revert?: ReadonlyArray<KindedObject>
}

export interface Restart {
  /**
   * Drops all connections and, if requested, replaces the history. Throws RevisionNotHeldError, in which case nothing
   * changes.
   */
  restart(options?: RestartOptions): void
}

type Life = Pick<ClusterLife, "rebuild" | "close">

/** An object with its identity, for {@link Sandbox.load}. */
export interface LoadedObject extends KubernetesObject {
  readonly metadata: KubernetesObject["metadata"] & { readonly uid: string }
}

/** A change of the store, for {@link Sandbox.observe}. */
export interface ObservedChange {
  /** `apps/v1.Deployment`; the kind as which it is stored. */
  readonly gvk: string
  readonly change: Change
  readonly previous: Change | undefined
}

interface SandboxParts {
  readonly kinds: ServedKinds
  readonly store: ObjectStore
  readonly server: ApiServer
  readonly faults: Faults
  readonly life: Life | undefined
  readonly backend: StoreBackend
  readonly around: WriteSurroundings
  readonly rebuild: () => void
  readonly close: () => void
}

const namespaceKind = "v1.Namespace"

export class Sandbox {
  readonly ledger: Ledger
  readonly faults: Faults & Restart
  readonly #parts: SandboxParts

  private constructor(parts: SandboxParts) {
    this.#parts = parts
    this.ledger = parts.store.ledger
    this.faults = Object.assign(parts.faults, { restart: (given: RestartOptions = {}) => this.#restart(given) })
  }

  static async start(options: SandboxOptions = {}): Promise<Sandbox> {
    const { clock = systemClock, historyLimit = 100_000, ledger = "objects", pretty = false, revision = 1000 } = options
    const { random = systemRandomness, lifecycle = false, onTrouble = warnProcess, authorization, users } = options
    const token = options.token ?? (authorization === undefined ? undefined : random.uid())
    const format = pretty ? spaced : compact
    const store = new ObjectStore({
      clock,
      random,
      ledger: new Ledger(ledger),
      format,
      historyLimit,
      revision: BigInt(revision),
    })
    const registry = new ResourceRegistry(builtinResources)
    for (const resource of builtinResources) store.open(resource)
    createNamespaces(store)
    const kinds = new ServedKinds(registry, store, () => server.streams)
    const { backend, around, rebuild, close } = assembleBackend(store, kinds, {
      clock,
      random,
      format,
      lifecycle: lifecycle === true,
      onTrouble,
      ownWebhooks: options.ownWebhooks,
      ...(authorization !== undefined && token !== undefined && { authorization: { token, ...(users && { users }) } }),
    })
    const listening = { ...options, ...(token !== undefined && { token }) }
    const { server, faults }: FaultyServer = await listenWithFaults(backend, listening, {
      format,
      ...(around.access !== undefined && { access: around.access }),
      write: (exchange, route, resource, form) =>
        receiveWrite(exchange, route, resource, form, (request) => backend.write(request)),
    })
    const { tls } = options
    const life =
      lifecycle === true
        ? new ClusterLife(around, tls?.ca ?? tls?.cert ?? "")
        : lifecycle === false
          ? undefined
          : new GarbageCollector(around, lifecycle.collects)
    // Once more, for the namespaces that there are now.
    if (around.access !== undefined) putDefaultPolicy(around)
    return new Sandbox({ kinds, store, server, faults, life, backend, around, rebuild, close })
  }

  /** `http://127.0.0.1:port`, without a trailing slash. */
  get url(): string {
    return this.#parts.server.url
  }

  get port(): number {
    return this.#parts.server.port
  }

  /** The data that our own client needs to connect. */
  get endpoint(): ApiEndpoint {
    return this.#parts.server.endpoint
  }

  /** The token that requests must carry or, with authorization, that may do everything; `undefined` for none. */
  get token(): string | undefined {
    return this.#parts.server.token
  }

  get requests(): RequestLog {
    return this.#parts.server.requests
  }

  /** Version of the newest change of any kind. */
  get resourceVersion(): string {
    return String(this.#parts.store.revision)
  }

  /** UID of the Namespace `kube-system`: how clients tell clusters apart. */
  get clusterUid(): string {
    return this.get(namespaceKind, "", "kube-system")?.metadata.uid ?? ""
  }

  /** Watches open now, of one kind or of all. */
  watchCount(plural?: string): number {
    const streams = [...this.#parts.server.streams]
    return streams.filter(({ resource }) => plural === undefined || resource.plural === plural).length
  }

  /** Creates or replaces; always a change with its own version. Throws UnknownKindError. */
  put(gvk: GvkName, object: KubernetesObject): StoredObject {
    return this.#parts.store.put(gvk, object)
  }

  /**
   * Creates or replaces with the state as it is: UID, creationTimestamp, generation, managedFields and all else but the
   * version are the caller's. An object of that name with another UID is deleted first. Throws UnknownKindError.
   */
  load(gvk: GvkName, object: LoadedObject): StoredObject {
    return this.#parts.store.load(gvk, object)
  }

  /**
   * Calls the observer after each change of the store, in order; it must not throw. The subscription cannot be ended.
   */
  observe(observer: (change: ObservedChange) => void): void {
    this.#parts.store.observe(({ name: gvk }, { change, previous }) => observer({ gvk, change, previous }))
  }

  /** Whether a kind is served now. */
  serves(gvk: GvkName): boolean {
    return this.#parts.kinds.registry.has(gvk)
  }

  /** The objects of a kind, parsed anew, in no particular order. Throws UnknownKindError. */
  list(gvk: GvkName): ReadonlyArray<StoredObject> {
    return this.#parts.store.list(gvk)
  }

  /** Returns the last state as the DELETED event has it. Throws UnknownKindError, UnknownObjectError. */
  delete(gvk: GvkName, namespace: string, name: string): StoredObject {
    return this.#parts.store.delete(gvk, namespace, name)
  }

  /** The newest state, parsed anew; `undefined` if there is no such object. */
  get(gvk: GvkName, namespace: string, name: string): StoredObject | undefined {
    return this.#parts.store.get(gvk, namespace, name)
  }

  /**
   * Handles a request as over HTTP, including admission, defaults, validation and field ownership, but without a
   * socket: reads of one object and all writes. At once, except for a write that an admission webhook is asked about:
   * that is answered by a promise. Bypasses faults, credentials and the request log.
   */
  request(request: LocalRequest): Eventually<LocalAnswer> {
    return answerLocally(this.#parts.backend, request)
  }

  /** What a request is about; `undefined` if its path names no served kind. */
  targetOf(request: Pick<LocalRequest, "path">): RequestTarget | undefined {
    return targetOf(this.#parts.backend, request)
  }

  /** See {@link ApiServer.connect}. */
  connect(): Duplex {
    return this.#parts.server.connect()
  }

  /** Serves one more kind, `custom` by default. Throws KindConflictError. */
  register(resource: Resource): void {
    this.#parts.kinds.add({ custom: true, ...resource })
  }

  /**
   * Stops serving a kind, as the deletion of its CustomResourceDefinition does: its objects are deleted one by one, its
   * watches end properly, its path and its group disappear. Throws UnknownKindError.
   */
  unregister(gvk: GvkName): void {
    this.#parts.kinds.remove(this.#parts.kinds.registry.named(gvk))
  }

  /** Sends a bookmark to every watch, of one kind or of all, that allows them. */
  bookmarkNow(plural?: string): void {
    this.#parts.server.sendBookmarks(plural)
  }

  /**
   * Replaces {@link Sandbox.token} from the next request on; with authorization, `undefined` means that no user may do
   * everything.
   */
  setToken(token: string | undefined): void {
    if (this.#parts.around.access !== undefined) this.#parts.around.access.authenticator.ownToken = token
    this.#parts.server.setToken(token)
  }

  async close(): Promise<void> {
    this.#parts.life?.close()
    this.faults.close()
    this.#parts.close()
    await this.#parts.server.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #restart({ revision = "same", keepObjects, revert = [] }: RestartOptions): void {
    if (revision === "new") {
      replaceCluster(this.#parts.store, 0n, keepObjects ?? false)
      createNamespaces(this.#parts.store)
    } else if (revision !== "same") {
      const survivors: Survivors = keepObjects === undefined ? "backup" : keepObjects ? "keep" : "none"
      const target = revision === "lower" ? lowerRevision(this.#parts.store, survivors) : BigInt(revision)
      if (target > this.#parts.store.revision) this.#parts.store.advanceTo(target)
      else restoreBackup(this.#parts.store, target, survivors, revert)
    }
    this.#parts.rebuild()
    this.#parts.life?.rebuild()
    this.faults.dropConnections()
  }
}

/** Creates the namespaces of every cluster that clients look for. Existing ones stay as they are. */
const createNamespaces = (store: ObjectStore): void => {
  for (const name of ["default", "kube-system"]) {
    if (store.get(namespaceKind, "", name) !== undefined) continue
    store.put(namespaceKind, {
      metadata: { name, labels: { "kubernetes.io/metadata.name": name } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    })
  }
}
