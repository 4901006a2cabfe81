/**
 * A sandbox and one watch session on it, over real HTTP, both on one clock that the test moves. Nothing here waits for time to pass; `sees`
 * turns the event loop until the sockets have done their work.
 */
import { afterEach, expect } from "vitest"
import type { RequestEntry } from "../../../src/apiserver/index.ts"
import type { ApiEndpoint } from "../../../src/kube/endpoint.ts"
import { HttpClient } from "../../../src/kube/http/http-client.ts"
import type { Shard } from "../../../src/kube/index.ts"
import type { LineBudget } from "../../../src/kube/scanner/line-splitter.ts"
import { compileDetectRules } from "../../../src/kube/scanner/object/detect-rules.ts"
import { HttpEnquiries } from "../../../src/kube/watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../../../src/kube/watch/protocol/policy.ts"
import { WatchSession } from "../../../src/kube/watch/session.ts"
import type { ListManner, WatchSink } from "../../../src/kube/watch/session-options.ts"
import { Sandbox, type SandboxOptions } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { Notebook } from "./notebook.ts"

/** Turns of the event loop; both ends are in this process, so whatever arrives at all arrives within a few hundred. */
const patience = 300_000

const configMap = { group: "", version: "v1", kind: "ConfigMap" }

export interface WatchedOptions {
  readonly sandbox?: SandboxOptions
  readonly gvk?: { readonly group: string; readonly version: string; readonly kind: string }
  readonly policy?: Partial<WatchPolicy>
  readonly resumeVersion?: string
  readonly clusterUid?: string
  readonly liveUntil?: number
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly shard?: Shard
  readonly lists?: ListManner
  readonly lineBudget?: LineBudget
  /** Where the session finds the sandbox. Default: directly. */
  readonly through?: (sandbox: Sandbox) => Promise<ApiEndpoint>
  /** Returns a number in [0, 1); default 0, so that every wait is the shortest. */
  readonly random?: () => number
  /** Runs before the session starts. */
  readonly before?: (sandbox: Sandbox) => unknown
  /** Instead of the notebook. */
  readonly sink?: (notebook: Notebook, clock: ManualClock) => WatchSink
}

export class Watched {
  readonly sandbox: Sandbox
  readonly clock: ManualClock
  readonly notebook: Notebook
  readonly session: WatchSession
  readonly client: HttpClient
  readonly plural: string
  #watchesAsked = 0
  #asked = 0

  private constructor(
    sandbox: Sandbox,
    endpoint: ApiEndpoint,
    clock: ManualClock,
    notebook: Notebook,
    options: WatchedOptions,
  ) {
    const gvk = options.gvk ?? configMap
    this.sandbox = sandbox
    this.clock = clock
    this.notebook = notebook
    this.plural = `${gvk.kind.toLowerCase()}s`
    this.client = new HttpClient(endpoint, { userAgent: "kubereel/test" })
    this.session = new WatchSession({
      transport: {
        get: (path, headers, handler) => {
          if (path.includes("watch=1")) this.#watchesAsked++
          return this.client.get(path, headers, handler)
        },
      },
      enquiries: new HttpEnquiries(this.client, gvk, options.namespace),
      sink: options.sink?.(notebook, clock) ?? notebook,
      listener: notebook,
      clock: {
        wallMicros: () => clock.wallMicros(),
        monotonicMs: () => clock.monotonicMs(),
        after: (ms, action) => {
          this.#asked = ms
          return clock.after(ms, action)
        },
      },
      random: options.random ?? (() => 0),
      policy: { ...defaultWatchPolicy, ...options.policy },
      gvk,
      rules: compileDetectRules({ gvk, detect: "all", ignore: [] }),
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      shard: options.shard,
      lists: options.lists,
      lineBudget: options.lineBudget,
      resumeVersion: options.resumeVersion,
      clusterUid: options.clusterUid,
      liveUntil: options.liveUntil,
    })
  }

  static async start(options: WatchedOptions = {}): Promise<Watched> {
    const clock = new ManualClock()
    const sandbox = await Sandbox.start({ clock, bookmarkInterval: 0, ...options.sandbox })
    await options.before?.(sandbox)
    const endpoint = (await options.through?.(sandbox)) ?? sandbox.endpoint
    const watched = new Watched(sandbox, endpoint, clock, new Notebook(), options)
    watched.session.start()
    return watched
  }

  /** One watch is open according to both ends. */
  isWatching(): Promise<void> {
    return this.sees(() => {
      const asked = this.requests("watch")
      const isOpen = asked.length === this.#watchesAsked && asked.at(-1)?.status === 200
      return this.session.phase.tag === "watching" && isOpen && this.sandbox.watchCount(this.plural) === 1
    })
  }

  /** Creates or changes a ConfigMap; returns `name@version`. */
  put(name: string, data: Record<string, string> = {}): string {
    const { metadata } = this.sandbox.put("v1.ConfigMap", { metadata: { name }, data })
    return `${name}@${metadata.resourceVersion}`
  }

  delete(name: string): string {
    return `${name}@${this.sandbox.delete("v1.ConfigMap", "default", name).metadata.resourceVersion}`
  }

  /** Waits until the version of the newest change has been delivered. */
  caughtUp(): Promise<void> {
    const newest = this.sandbox.ledger.of("v1.ConfigMap").at(-1)?.resourceVersion ?? "0"
    return this.sees(() => BigInt(this.session.delivered ?? "0") >= BigInt(newest))
  }

  /** As {@link caughtUp}, letting every wait on the way pass. */
  recovers(): Promise<void> {
    const newest = BigInt(this.sandbox.resourceVersion)
    return this.seesLater(() => BigInt(this.session.delivered ?? "0") >= newest)
  }

  /** As {@link sees}, letting every wait on the way pass. */
  seesLater(condition: () => boolean): Promise<void> {
    return this.sees(() => {
      if (this.isWaiting) this.clock.advance(this.#asked)
      return condition()
    })
  }

  /** A bookmark for every open watch; waits until `count` of them have arrived. */
  async bookmark(count = 1): Promise<void> {
    const before = this.session.statistics.bookmarks
    this.sandbox.bookmarkNow()
    await this.sees(() => this.session.statistics.bookmarks >= before + count)
  }

  /** Waits until the machine is only waiting; returns for how many ms. */
  async waits(): Promise<number> {
    await this.sees(() => this.isWaiting)
    return this.#asked
  }

  /** Lets the wait of {@link waits} pass. */
  async passes(): Promise<number> {
    const ms = await this.waits()
    this.clock.advance(ms)
    return ms
  }

  get isWaiting(): boolean {
    const { tag } = this.session.phase
    return tag === "backing-off" || tag === "absent"
  }

  /** Turns the event loop until the condition is true. If it is not after very many turns, reports what happened instead. */
  async sees(condition: () => boolean): Promise<void> {
    let turns = 0
    do {
      await turn()
      if (turns++ > patience) throw new Error(`not seen: ${condition}; so far: ${this.notebook.story.join("; ")}`)
    } while (!condition())
  }

  /** Requests for the kind itself, as their queries. */
  queries(verb: "list" | "watch"): ReadonlyArray<URLSearchParams> {
    return this.requests(verb).map(({ query }) => new URLSearchParams(query))
  }

  requests(verb: "list" | "watch"): ReadonlyArray<RequestEntry> {
    return this.sandbox.requests.entries({ resource: this.plural, verb })
  }

  /** The contents of the ledger, in the notebook's notation. */
  ledger(): ReadonlyArray<string> {
    return this.sandbox.ledger
      .of("v1.ConfigMap")
      .map(({ action, name, resourceVersion }) => `${action} ${name}@${resourceVersion}`)
  }

  /** Stops everything, and checks the invariants of every session. */
  async close(): Promise<void> {
    const { sandbox, session, clock, client } = this
    session.stop()
    const forbidden = sandbox.requests.entries().filter(({ query }) => /(^|&)resourceVersion=0(&|$)/.test(query))
    client.close()
    await sandbox.close()
    expect(forbidden).toEqual([])
    expect(clock.pending).toBe(0)
  }
}

/** Starters for one test file; what they start is closed after each test. `watching` waits for the list and the watch. */
export const watchedSandboxes = () => {
  const opened: Watched[] = []
  const start = async (options?: WatchedOptions): Promise<Watched> => {
    const watched = await Watched.start(options)
    opened.push(watched)
    return watched
  }
  const watching = async (options?: WatchedOptions): Promise<Watched> => {
    const watched = await start(options)
    await watched.isWatching()
    return watched
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((watched) => watched.close()))
  })
  return { start, watching }
}

/** For `before`: ConfigMaps of these names. */
export const holding =
  (...names: ReadonlyArray<string>) =>
  (sandbox: Sandbox): void => {
    for (const name of names) sandbox.put("v1.ConfigMap", { metadata: { name }, data: { padding: "x".repeat(100) } })
  }
