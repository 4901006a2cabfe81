/**
 * Follows the kinds of the server for a recorder of every kind: new ones are recorded as soon as their definition is accepted, as far as the recorder sees
 * definitions, otherwise within seconds, and one whose definition was removed ends.
 *
 * Discovery is asked every 5 s, which is a "not modified" of some 200 bytes unless something changed: that needs no
 * permission, and notices definitions and aggregated APIs alike (docs/decisions/0040-quiet-kinds-share-workers.md). A
 * kind is removed once its watcher has learnt that it is not installed any more, so everything that happened to its
 * objects has been received; a group whose server does not respond keeps its kinds.
 */

import { isDeepStrictEqual } from "node:util"
import * as Effect from "effect/Effect"
import type { KindDefinition } from "../../../actors/index.ts"
import { type Clock, systemClock, type Timer } from "../../../clock.ts"
import {
  type ApiEndpoint,
  type DiscoveredKind,
  type DiscoveryCache,
  discoverKinds,
  HttpClient,
  type ReadTransport,
} from "../../../kube/index.ts"
import { formatGvk } from "../../../kube/offline.ts"
import type { RecorderLog } from "../../notices/notice-log.ts"
import type { RecorderActors } from "../../recording/recorder-actors.ts"
import type { Reconfiguration } from "../../recording/watchers.ts"
import { namedKinds } from "../../status/forbidden-kinds.ts"
import { expandEveryKind } from "../every-kind.ts"
import { ofShard, type RecorderShard } from "../shard-of-kinds.ts"
import {
  type DetectionDefaults,
  type RecorderConfiguration,
  type TrackedKind,
  withinNamespaces,
  withoutKinds,
} from "../tracked-kind.ts"

/** ms between two questions; from a server before Kubernetes 1.26, one question is some thirty requests. */
const pollMs = 5000
const slowPollMs = 60_000
/** Looks after which a kind is removed whatever its watcher says: it may be held up by a proxy. */
const mostLooks = 12

interface ServerKindsOptions {
  readonly client: ReadTransport
  readonly wanted: WantedKinds
  readonly clock: Clock
  readonly log: RecorderLog
}

type FollowedActors = Pick<RecorderActors, "reconfigure" | "kinds" | "retry" | "noteGone"> & {
  readonly statuses: Pick<RecorderActors["statuses"], "stateOf" | "setUndiscovered">
}

export class ServerKinds {
  readonly #options: ServerKindsOptions
  readonly #cache: DiscoveryCache = new Map()
  #actors: FollowedActors | undefined
  #kinds: ReadonlyArray<DiscoveredKind> = []
  /** By kind that the server has no longer: how often that was seen. */
  readonly #vanished = new Map<string, number>()
  #isKnown = false
  /** µs of the last look that succeeded, and of the last one that did not find a kind that was found later. */
  #lookedMicros = 0
  readonly #unseenSince = new Map<string, number>()
  /** Kinds whose definition was accepted while the recorder ran, and exists; with the time in µs. */
  readonly #defined = new Map<string, number>()
  #trouble: string | undefined
  #isSlow = false
  #timer: Timer | undefined
  #isStopped = false

  constructor(options: ServerKindsOptions) {
    this.#options = options
  }

  /** Why the kinds are not known; `undefined` if they are. */
  get trouble(): string | undefined {
    return this.#isKnown ? undefined : (this.#trouble ?? "the server has not responded")
  }

  /** Asks until stopped. The kinds that are recorded change from now on. */
  follow(actors: FollowedActors): void {
    this.#actors = actors
    const { wanted } = this.#options
    if (wanted.isEvery) actors.statuses.setUndiscovered(this.trouble)
    // They may have been discovered just after the start gave up waiting.
    if (!isDeepStrictEqual(actors.kinds, wanted.kinds)) void this.#apply()
    this.#later()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  /** As in the configuration of a watcher: for a kind that was not installed before, while this looked. */
  unseenSince(gvk: string): number | undefined {
    return this.#unseenSince.get(gvk)
  }

  /** A definition has changed. Its kind is recorded from the moment at which it is accepted. Never rejects. */
  async defined({ isServed, isGone, atMicros, ...kind }: KindDefinition): Promise<void> {
    const { wanted } = this.#options
    const { group, version, kind: name, plural, singular, shortNames, isNamespaced } = kind
    const gvk = { group, version, kind: name }
    const text = formatGvk(gvk)
    if (isGone) {
      const fromMicros = this.#defined.get(text)
      this.#defined.delete(text)
      const isWanted = wanted.kinds.some(({ gvkText }) => gvkText === text)
      if (fromMicros !== undefined && isWanted) this.#actors?.noteGone({ gvk: text, fromMicros, toMicros: atMicros })
      return
    }
    if (!isServed) {
      if (!this.#defined.has(text) && !this.#isFound(text)) this.#unseenSince.set(text, atMicros)
      return
    }
    if (!this.#defined.has(text)) this.#defined.set(text, this.#unseenSince.get(text) ?? atMicros)
    if (this.#isFound(text)) {
      if (this.#actors?.statuses.stateOf(text) === "waiting") this.#actors.retry(text)
      return
    }
    if (!wanted.isEvery || !this.#isKnown) return this.#actors?.retry(text)
    if (!this.#unseenSince.has(text)) this.#unseenSince.set(text, atMicros)
    const verbs = ["list", "watch"]
    await this.#found([...this.#kinds, { gvk, plural, singular, shortNames, isNamespaced, verbs }])
  }

  #isFound(text: string): boolean {
    return this.#kinds.some(({ gvk }) => formatGvk(gvk) === text)
  }

  /** Asks now, and applies what has changed. Does nothing if the configuration names its kinds. Never rejects. */
  async look(): Promise<void> {
    const { client, wanted, log } = this.#options
    if (!wanted.isEvery) {
      this.#actors?.statuses.setUndiscovered(undefined)
      return
    }
    const found = await discoverKinds(client, this.#cache)
    if (this.#isStopped) return
    if (found.tag === "failed") {
      if (this.#trouble !== found.detail) log.warn(`the kinds of the server cannot be discovered: ${found.detail}`)
      this.#trouble = found.detail
      if (!this.#isKnown) this.#actors?.statuses.setUndiscovered(found.detail)
      return
    }
    if (this.#trouble !== undefined) log.info("the kinds of the server can be discovered again")
    this.#trouble = undefined
    this.#isKnown = true
    this.#isSlow = !found.isAggregated
    this.#actors?.statuses.setUndiscovered(undefined)
    this.#noteNew(found.kinds)
    await this.#found([...found.kinds, ...this.#staying(found.kinds, found.silentGroups)])
  }

  /** When the kinds that a look has found for the first time were last known to be absent. */
  #noteNew(found: ReadonlyArray<DiscoveredKind>): void {
    const before = new Set(this.#kinds.map(({ gvk }) => formatGvk(gvk)))
    const since = this.#lookedMicros
    this.#lookedMicros = this.#options.clock.wallMicros()
    if (since === 0) return
    for (const { gvk } of found) {
      const text = formatGvk(gvk)
      if (!before.has(text) && !this.#unseenSince.has(text)) this.#unseenSince.set(text, since)
    }
  }

  async #found(next: ReadonlyArray<DiscoveredKind>): Promise<void> {
    const { wanted } = this.#options
    if (isDeepStrictEqual(next, this.#kinds)) return
    this.#kinds = next
    const before = wanted.kinds
    const after = wanted.discover(next)
    const ended = withoutKinds(before, after).map(({ gvkText }) => gvkText)
    // Their order has no meaning, and a kind that ends soon has another place.
    if (ended.length > 0 || withoutKinds(after, before).length > 0) await this.#apply(new Set(ended))
  }

  /** `ended`: kinds that the server has no longer, or prefers in another version. */
  async #apply(ended?: ReadonlySet<string>): Promise<void> {
    if (this.#actors === undefined) return
    const { wanted, log } = this.#options
    logReconfiguration("the server's kinds have changed", await this.#actors.reconfigure(wanted.kinds, ended), log)
  }

  /** Of the kinds known before, those that are not found and not ended yet. */
  #staying(found: ReadonlyArray<DiscoveredKind>, silentGroups: ReadonlySet<string>): ReadonlyArray<DiscoveredKind> {
    const names = new Set(found.map(({ gvk }) => formatGvk(gvk)))
    for (const gvk of [...this.#vanished.keys()]) if (names.has(gvk)) this.#vanished.delete(gvk)
    return this.#kinds.filter(({ gvk }) => {
      const name = formatGvk(gvk)
      if (names.has(name)) return false
      // Discovery may have a kind later than the server serves it.
      if (silentGroups.has(gvk.group) || this.#defined.has(name)) return true
      const looks = (this.#vanished.get(name) ?? 0) + 1
      this.#vanished.set(name, looks)
      const state = this.#actors?.statuses.stateOf(name)
      const hasEnded = state === undefined || state === "waiting" || looks > mostLooks
      if (hasEnded) this.#vanished.delete(name)
      return !hasEnded
    })
  }

  #later(): void {
    if (this.#isStopped) return
    this.#timer = this.#options.clock.after(this.#isSlow ? slowPollMs : pollMs, () => {
      void this.look().then(() => this.#later())
    })
  }
}

// What to record now: the configuration in force, with the kinds of the server filled in where it asks for every kind.

interface WantedKindsOptions {
  /** The namespaces of the command line. */
  readonly namespaces: ReadonlyArray<string>
  /** Default: all kinds. */
  readonly shard?: RecorderShard | undefined
  readonly secretsInPlainText: boolean
  readonly defaults: DetectionDefaults
}

export class WantedKinds {
  readonly #options: WantedKindsOptions
  #configuration: RecorderConfiguration
  #discovered: ReadonlyArray<DiscoveredKind> = []

  constructor(configuration: RecorderConfiguration, options: WantedKindsOptions) {
    this.#options = options
    this.#configuration = withinNamespaces(configuration, options.namespaces)
  }

  /** Whether the server's kinds matter. */
  get isEvery(): boolean {
    return this.#configuration.every !== undefined
  }

  get kinds(): ReadonlyArray<TrackedKind> {
    const { kinds, every } = this.#configuration
    const all = every === undefined ? kinds : expandEveryKind(kinds, every, this.#discovered, this.#options)
    return ofShard(all, this.#options.shard)
  }

  /** Takes another configuration; returns what to record with it. */
  configure(configuration: RecorderConfiguration): ReadonlyArray<TrackedKind> {
    this.#configuration = withinNamespaces(configuration, this.#options.namespaces)
    return this.kinds
  }

  /** Takes what the server has; returns what to record then. */
  discover(discovered: ReadonlyArray<DiscoveredKind>): ReadonlyArray<TrackedKind> {
    this.#discovered = discovered
    return this.kinds
  }
}

// Opens {@link ServerKinds} in a scope, with the kinds that the server has now.

/** ms that the start of a recorder waits for a server: one that does not respond is asked again while it runs. */
const patienceMs = 10_000

interface OpenOptions {
  readonly wanted: WantedKinds
  /** The present address and credentials, which the watchers look after. */
  readonly endpoint: () => ApiEndpoint
  readonly userAgent: string
  readonly log: RecorderLog
}

export const openServerKinds = ({ wanted, endpoint, userAgent, log }: OpenOptions) =>
  Effect.gen(function* () {
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => new HttpClient(endpoint(), { userAgent })),
      (open) => Effect.sync(() => open.close()),
    )
    const current: ReadTransport = {
      get: (path, headers, handler) => {
        client.updateEndpoint(endpoint())
        return client.get(path, headers, handler)
      },
    }
    const serverKinds = yield* Effect.acquireRelease(
      Effect.sync(() => new ServerKinds({ client: current, wanted, clock: systemClock, log })),
      (open) => Effect.sync(() => open.stop()),
    )
    yield* Effect.raceFirst(
      Effect.promise(() => serverKinds.look()),
      Effect.sleep(patienceMs),
    )
    return serverKinds
  })

// What a change of the recorded kinds did, for the log.

/** Kinds that the line names with what happened to them. */
const mostTold = 8

/** Logs one line for all changes, and one for each removed kind whose last events were not written. `why`: what has changed. */
export const logReconfiguration = (
  why: string,
  { added, restarted, removed }: Reconfiguration,
  log: RecorderLog,
): void => {
  const parts = [
    ...described(added, "added"),
    ...described(restarted, "with changed settings"),
    ...described(
      removed.map(({ gvk }) => gvk),
      "removed",
    ),
  ]
  log.info(`${why}: ${parts.length === 0 ? "no effect on the tracked kinds" : parts.join(", ")}`)
  for (const { gvk, isDrained, complete } of removed) {
    const until =
      complete === undefined ? "" : `; it is complete until ${new Date(complete.untilMicros / 1000).toISOString()}`
    if (!isDrained) log.warn(`${gvk}: its last events could not be written in time${until}`)
  }
}

const described = (gvks: ReadonlyArray<string>, what: string): ReadonlyArray<string> =>
  gvks.length <= mostTold ? gvks.map((gvk) => `${gvk} ${what}`) : [`${gvks.length} kinds ${what} (${namedKinds(gvks)})`]
