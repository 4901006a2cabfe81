/**
 * The state of each recorded kind, as its watcher reports it, and whether the store can write: the source of readiness, of the
 * incompleteness header of exports, of exit codes, and of the status line.
 */
import { combinedState, type NamespaceState } from "../../actors/index.ts"
import type { KindState } from "../../kube/index.ts"
import type { CompiledFilters } from "../../trace/index.ts"
import { forbiddenReason, namedKinds } from "./forbidden-kinds.ts"
import type { RecorderState } from "./recorder-state.ts"
import { serverTrouble } from "./server-trouble.ts"

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
  /** Kinds that were not installed when a recorder looked for them first, and then appeared. */
  readonly #appeared = new Set<string>()
  /** Kinds that were not installed when the former recorder of the directory ended. */
  readonly #awaited = new Set<string>()
  readonly #onChange: () => void
  #storeTrouble: string | undefined
  #undiscovered: string | undefined
  readonly #setAside: string[] = []
  /** Whether any kind was recorded since the start. */
  #hasRecorded = false
  /** Kinds that were not behind once since the start. */
  readonly #current = new Set<string>()

  /** Every kind starts as `listing`. `onChange`: kinds, or a state of theirs, have changed. Ready means that each first list is recorded or cannot be made. */
  constructor(gvks: Iterable<string>, nowMicros: number, onChange: () => void = () => undefined) {
    this.#onChange = onChange
    for (const gvk of gvks) this.#kinds.set(gvk, starting(gvk, "starting", nowMicros))
  }

  /** Kinds in given states; `appeared`: those that were installed later than a recorder looked for them. */
  static of(statuses: ReadonlyArray<KindStatus>, appeared: ReadonlyArray<string>): KindStatuses {
    const all = new KindStatuses([], 0)
    for (const status of statuses) all.#kinds.set(status.gvk, status)
    for (const gvk of appeared) all.#appeared.add(gvk)
    return all
  }

  /** Takes over what the former recorder of the same directory knew. Call before any state is set. */
  recall({ statuses, appeared }: Pick<RecorderState, "statuses" | "appeared">): void {
    for (const gvk of appeared) this.#appeared.add(gvk)
    for (const { gvk, state } of statuses) if (state === "waiting") this.#awaited.add(gvk)
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
    if (isRecorded({ state, namespaces })) this.#hasRecorded = true
    if (state === "watching") this.#current.add(gvk)
    // One that was installed between two recorders is never seen waiting by the second.
    if ((before.state === "waiting" && changed) || (state === "watching" && this.#awaited.delete(gvk)))
      this.#appeared.add(gvk)
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

  /** Where damaged recordings were moved since this process started. */
  get setAside(): ReadonlyArray<string> {
    return this.#setAside
  }

  addSetAside(path: string): void {
    this.#setAside.push(path)
  }

  setStoreTrouble(trouble: string | undefined): void {
    this.#storeTrouble = trouble
  }

  /** `undefined` if the kind is not recorded. */
  stateOf(gvk: string): KindState | undefined {
    return this.#kinds.get(gvk)?.state
  }

  /** Why it is not known yet which kinds there are to record; `undefined` if it is, or if they are named. */
  setUndiscovered(reason: string | undefined): void {
    this.#undiscovered = reason
  }

  all(): ReadonlyArray<KindStatus> {
    return [...this.#kinds.values()]
  }

  /** No kind is listing: what can be recorded is. */
  get isListed(): boolean {
    return this.all().every((kind) => kind.state !== "listing")
  }

  /** The kinds of the server are known, some are recorded, and no other can be before something changes in the server or in the configuration. */
  get areFirstListsOver(): boolean {
    const kinds = this.all()
    const isPending = ({ state }: KindStatus): boolean => state === "listing" || state === "failing"
    return this.#undiscovered === undefined && kinds.some(isRecorded) && !kinds.some(isPending)
  }

  /** So many kinds that a line for each is not readable any more. */
  get isCrowded(): boolean {
    return this.#kinds.size > mostLines
  }

  get isReady(): boolean {
    return this.notReady() === undefined
  }

  /**
   * Why the recorder is not ready, in one sentence; `undefined` if it is (docs/reference/architecture.md#actors).
   *
   * Kinds that cannot be recorded now do not delay readiness as long as something is recorded; they are named. What
   * happened while no recorder ran must have arrived: a client that waits for readiness wants to export it. An outage
   * of a server that was recorded before does not end readiness: a Service would then drop the recorder just when its
   * recording of the time before is needed.
   */
  notReady(): string | undefined {
    if (this.#storeTrouble !== undefined && !this.#hasRecorded)
      return `nothing is being recorded: the store cannot write: ${this.#storeTrouble}`
    if (this.#undiscovered !== undefined) return `the kinds of the server are not known yet: ${this.#undiscovered}`
    if (!this.isListed) return "first lists are not complete"
    const kinds = this.all()
    const behind = kinds.filter(({ gvk, state }) => state === "catching-up" && !this.#current.has(gvk))
    const [first] = behind
    if (first !== undefined) {
      const more = behind.length === 1 ? "" : `, and ${behind.length - 1} more`
      return `catching up with what happened while nothing was recording: ${first.gvk} ${first.detail}${more}`
    }
    if (kinds.length === 0 || kinds.some(isRecorded)) return undefined
    const isLasting = kinds.every(({ state, isRefused }) => isRefused || state === "stopped")
    if (this.#hasRecorded && !isLasting) return undefined
    const [group, ...others] = byCause(kinds)
    const more = others.reduce((sum, { gvks }) => sum + gvks.length, 0)
    return `nothing is being recorded: ${namedKinds(group?.gvks ?? [])} ${group?.state}: ${group?.detail}${more === 0 ? "" : `; and ${more} more`}`
  }

  /** For the next recorder of the directory. */
  get appeared(): ReadonlyArray<string> {
    return [...this.#appeared]
  }

  /** Whether the kind was not installed when a recorder looked for it first: its objects may have changed before it was noticed. */
  hasAppeared(gvk: string): boolean {
    return this.#appeared.has(gvk)
  }

  /** Kinds whose recording is not complete at this moment, and why. */
  incomplete(): ReadonlyArray<KindStatus> {
    return this.all().filter((kind) => kind.state !== "watching")
  }

  /** What is not as it should be although the recorder is ready: what was recorded can be read, and nothing is added. */
  degraded(): string | undefined {
    return this.#storeTrouble === undefined ? undefined : `the store cannot write: ${this.#storeTrouble}`
  }

  /** The body of `/readyz?verbose`, in the manner of the API server's. */
  verboseReadiness(): string {
    const lines: string[] = this.isCrowded
      ? crowdedLines(this.all())
      : this.all().flatMap(({ gvk, namespaces, ...kind }) => [
          readinessLine(gvk, kind),
          ...namespaces.map((each) => readinessLine(`${gvk} in namespace ${each.namespace}`, each)),
        ])
    if (this.#storeTrouble !== undefined) lines.push(`[!]store cannot write: ${this.#storeTrouble}`)
    for (const path of this.#setAside) lines.push(`[!]store set a damaged recording aside in ${path}`)
    const reason = this.notReady()
    if (reason !== undefined) lines.push(`not ready: ${reason}`)
    const passed = this.degraded() === undefined ? "passed" : "passed, degraded"
    return `${lines.join("\n")}\nreadyz check ${reason === undefined ? passed : "failed"}\n`
  }
}

/** In one namespace at least. A kind that catches up is being recorded, and one that is not installed has no objects, so everything of it is recorded. */
const isRecorded = ({ state, namespaces }: Pick<KindStatus, "state" | "namespaces">): boolean =>
  [state, ...namespaces.map((each) => each.state)].some((each) => recordedStates.has(each))

const recordedStates: ReadonlySet<KindState> = new Set(["watching", "catching-up", "waiting"])

/** Kinds that are in one state for one cause. */
interface KindsOfCause {
  readonly gvks: ReadonlyArray<string>
  readonly state: KindState
  /** Of the first of them, without what was being done when it happened; of forbidden ones what all of them lack. */
  readonly detail: string
}

/** One entry for each state and cause: eight kinds that cannot reach one server are one trouble, and so are eight that one user may not watch. */
export const byCause = (
  kinds: ReadonlyArray<Pick<KindStatus, "gvk" | "state" | "detail">>,
): ReadonlyArray<KindsOfCause> => {
  const causeOf = ({ state, detail }: Pick<KindStatus, "state" | "detail">): string =>
    serverTrouble(detail)?.cause ?? (state === "forbidden" ? "" : detail)
  const groups = Map.groupBy(kinds, (kind) => `${kind.state} ${causeOf(kind)}`)
  return [...groups.values()].map((group) => {
    const [{ state, detail }] = group as [KindStatus, ...KindStatus[]]
    const gvks = group.map(({ gvk }) => gvk)
    const shared = serverTrouble(detail)?.detail
    if (shared === undefined && state === "forbidden")
      return { gvks, state, detail: forbiddenReason(group.map((each) => each.detail)) }
    return { gvks, state, detail: shared ?? detail }
  })
}

/** Kinds that are listed one by one. */
const mostLines = 32

/** One line for all kinds in the same state for the same cause; of those that are as they should be, only how many they are. */
const crowdedLines = (kinds: ReadonlyArray<KindStatus>): string[] => {
  const watched = kinds.filter(({ state }) => state === "watching")
  const others = kinds.filter(({ state }) => state !== "watching")
  return [
    `[+]${watched.length} of ${kinds.length} kinds watching`,
    ...byCause(others).map(({ gvks, ...cause }) =>
      readinessLine(gvks.length === 1 ? namedKinds(gvks) : `${gvks.length} kinds (${namedKinds(gvks)})`, cause),
    ),
  ]
}

const readinessLine = (name: string, { state, detail }: Pick<KindStatus, "state" | "detail">): string =>
  `[${marks.get(state) ?? "!"}]${name} ${state}: ${detail}`

const marks: ReadonlyMap<KindState, string> = new Map([
  ["watching", "+"],
  ["listing", "-"],
  ["catching-up", "-"],
])

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

/**
 * The state of a kind as far as a request asks for it: what happens in namespaces that its filters exclude does not concern it. The kind with the state of its requested namespaces; as it is if it is not watched namespace by namespace, or all of its namespaces
 * are requested; `undefined` if none of them is.
 */
export const requestedStatus = (
  status: KindStatus,
  { excludesNamespace }: Pick<CompiledFilters, "excludesNamespace">,
): KindStatus | undefined => {
  const namespaces = status.namespaces.filter(({ namespace }) => !excludesNamespace(namespace))
  if (namespaces.length === status.namespaces.length) return status
  return namespaces.length === 0 ? undefined : { ...status, ...combinedState(namespaces), namespaces }
}
