/**
 * The state of each recorded kind, as its watcher reports it, and whether the store can write: the source of readiness, of the
 * incompleteness header of exports, of exit codes, and of the status line.
 */
import type { NamespaceState } from "../actors/watcher/progress/namespace-states.ts"
import type { KindState } from "../kube/watch/protocol/protocol.ts"

export interface KindStatus {
  readonly gvk: string
  readonly state: KindState
  /** One sentence for people. */
  readonly detail: string
  /**
   * The state of each namespace where the kind is watched namespace by namespace: `state` is then that of the worst. Empty: `state` is
   * that of everything recorded of the kind.
   */
  readonly namespaces: ReadonlyArray<NamespaceState>
  /** µs since the Unix epoch at which the state was entered. */
  readonly since: number
  /** The server denies access: the kind is `forbidden`, or it is `failing` because the credentials are not accepted (401). */
  readonly isRefused: boolean
}

export class KindStatuses {
  readonly #kinds = new Map<string, KindStatus>()
  /** Kinds that have just received a 401; the resulting state is reported right afterwards. */
  readonly #unauthorized = new Set<string>()
  readonly #onChange: () => void
  #storeTrouble: string | undefined

  /** Every kind starts as `listing`. `onChange`: kinds, or a state of theirs, have changed. Ready means that each first list is recorded or cannot be made. */
  constructor(gvks: Iterable<string>, nowMicros: number, onChange: () => void = () => undefined) {
    this.#onChange = onChange
    for (const gvk of gvks) this.#kinds.set(gvk, starting(gvk, "starting", nowMicros))
  }

  /** Kinds in given states. */
  static of(statuses: ReadonlyArray<KindStatus>): KindStatuses {
    const all = new KindStatuses([], 0)
    for (const status of statuses) all.#kinds.set(status.gvk, status)
    return all
  }

  /**
   * Sets the recorded kinds, reported in this order. New kinds, and those in `restarted`, whose settings have changed and whose watchers
   * start again, start as `listing`; the others keep their states.
   */
  follow(gvks: ReadonlyArray<string>, restarted: ReadonlySet<string>, nowMicros: number): void {
    const before = new Map(this.#kinds)
    this.#kinds.clear()
    for (const gvk of gvks) {
      const known = before.get(gvk)
      if (known === undefined) this.#kinds.set(gvk, starting(gvk, "starting", nowMicros))
      else this.#kinds.set(gvk, restarted.has(gvk) ? starting(gvk, "its settings changed", nowMicros) : known)
    }
    for (const gvk of [...this.#unauthorized]) if (!this.#kinds.has(gvk)) this.#unauthorized.delete(gvk)
    this.#onChange()
  }

  /** Returns whether the state, not only its detail, has changed. */
  set(
    gvk: string,
    state: KindState,
    detail: string,
    atMicros: number,
    namespaces: ReadonlyArray<NamespaceState> = [],
  ): boolean {
    const before = this.#kinds.get(gvk)
    if (before === undefined) throw new Error(`${gvk} is not recorded by this recorder`)
    const changed = before.state !== state
    const isRefused = state === "forbidden" || (state === "failing" && this.#unauthorized.has(gvk))
    this.#unauthorized.delete(gvk)
    this.#kinds.set(gvk, { gvk, state, detail, namespaces, since: changed ? atMicros : before.since, isRefused })
    if (changed || statesOf(before.namespaces) !== statesOf(namespaces)) this.#onChange()
    return changed
  }

  /** The server rejected the credentials; the resulting state follows. */
  setUnauthorized(gvk: string): void {
    this.#unauthorized.add(gvk)
  }

  /** Why the recording cannot be written at this moment; `undefined` when it can. */
  get storeTrouble(): string | undefined {
    return this.#storeTrouble
  }

  setStoreTrouble(trouble: string | undefined): void {
    this.#storeTrouble = trouble
  }

  all(): ReadonlyArray<KindStatus> {
    return [...this.#kinds.values()]
  }

  /**
   * Ready: no kind is listing (docs/reference/architecture.md#actors). Kinds that cannot be recorded now do not delay readiness; they are
   * named.
   */
  get isReady(): boolean {
    return this.all().every((kind) => kind.state !== "listing")
  }

  /** Kinds whose recording is not complete at this moment, and why. */
  incomplete(): ReadonlyArray<KindStatus> {
    return this.all().filter((kind) => kind.state !== "watching")
  }

  /** The body of `/readyz?verbose`, in the manner of the API server's. */
  verboseReadiness(): string {
    const lines = this.all().flatMap(({ gvk, namespaces, ...kind }) => [
      readinessLine(gvk, kind),
      ...namespaces.map((each) => readinessLine(`${gvk} in namespace ${each.namespace}`, each)),
    ])
    if (this.#storeTrouble !== undefined) lines.push(`[!]store cannot write: ${this.#storeTrouble}`)
    return `${lines.join("\n")}\nreadyz check ${this.isReady ? "passed" : "failed"}\n`
  }
}

const readinessLine = (name: string, { state, detail }: Pick<KindStatus, "state" | "detail">): string =>
  `[${state === "watching" ? "+" : state === "listing" ? "-" : "!"}]${name} ${state}: ${detail}`

const statesOf = (namespaces: ReadonlyArray<NamespaceState>): string =>
  namespaces.map(({ namespace, state }) => `${namespace} ${state}`).join()

const starting = (gvk: string, detail: string, since: number): KindStatus => ({
  gvk,
  state: "listing",
  detail,
  namespaces: [],
  since,
  isRefused: false,
})
