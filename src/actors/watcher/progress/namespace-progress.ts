/**
 * How far a kind is recorded that is watched namespace by namespace, kept while it is recorded: one standing per namespace, and what
 * frames say of all of them together.
 *
 * While every namespace is watched the kind is complete, up to a version in each. As soon as one is not (it is being listed, its
 * server does not answer, it is forbidden) the kind is complete nowhere: the store keeps the moment until which it was, so that nobody is
 * told more than is recorded, and keeps the state of each namespace as what a list under way leaves to the next life.
 */
import type { Clock } from "../../../clock.ts"
import type { ResourceVersion } from "../../../kube/resource-version.ts"
import type { GapReason } from "../../../trace/event.ts"
import {
  isSameProgress,
  type NamespaceListReason,
  type NamespaceProgress,
  namespaceProgressBytes,
  namespaceProgressRoom,
} from "../../../wire/namespace-progress.ts"
import type { NamespacesNews, ObservationsBuilder } from "../../../wire/observations-builder.ts"
import type { FrameWriter } from "../frame-writer.ts"
import type { FrameProgress } from "./frame-progress.ts"
import type { Standing } from "./list-under-way.ts"

/** What one namespace asks of all. */
interface Parts {
  wallMicros(): number
  /** The store must know of it before it knows anything that follows. */
  changed(): void
}

/** One namespace. Its sink tells it what was delivered. */
export class NamespaceStanding implements Standing {
  readonly namespace: string
  /** Whether the server is sending its changes at the moment; asked whenever a frame leaves. */
  isWatched: () => boolean = () => false
  #isListed = false
  #version: string
  #time: number
  #owes: NamespaceListReason
  #reached: ResourceVersion | string | undefined
  readonly #parts: Parts

  constructor({ namespace, completeThrough, completeTime, listReason }: NamespaceProgress, parts: Parts) {
    this.namespace = namespace
    this.#version = completeThrough
    this.#time = completeTime
    this.#owes = listReason
    this.#parts = parts
  }

  /** Whether a list of it is owed decides about its first list after a restored cluster too (`owes`), so epochs say nothing here. */
  readonly epoch = 0

  get completeVersion(): string {
    return this.#version
  }

  get completeTime(): number {
    return this.#time
  }

  get owes(): NamespaceListReason {
    return this.#owes
  }

  /** The hot path: each event. */
  reach(version: ResourceVersion | string): void {
    this.#reached = version
  }

  listBegins(reason: "first" | GapReason): void {
    // What was delivered may not be in a frame yet, and is in the one that says this.
    this.state(this.#parts.wallMicros())
    this.#owes = reason
    this.#reached = undefined
    this.#isListed = false
    if (this.#time === 0) this.#time = this.#parts.wallMicros()
    this.#parts.changed()
  }

  listEnds(version: string): void {
    this.#owes = ""
    this.#reached = version
    this.#isListed = true
  }

  /** Whether a list has ended since this was asked. */
  takeListed(): boolean {
    const isListed = this.#isListed
    this.#isListed = false
    return isListed
  }

  /** What was complete is of a history that is over. The time stays: the gap between both begins then. */
  forgetHistory(): void {
    if (this.#version !== "" || this.#owes !== "first") this.#owes = "cluster-restored"
    this.#version = ""
    this.#reached = undefined
  }

  /** As of now: everything delivered is in the frame that says it. */
  state(nowMicros: number): NamespaceProgress {
    const reached = this.#reached === undefined ? this.#version : String(this.#reached)
    if (reached !== this.#version) {
      this.#version = reached
      this.#time = Math.max(nowMicros, this.#time)
    }
    return {
      namespace: this.namespace,
      completeThrough: this.#version,
      completeTime: this.#time,
      listReason: this.#owes,
    }
  }
}

/** All namespaces of one kind, and what frames say of them: only those that have moved since the frame before. */
export class ProgressByNamespace implements FrameProgress {
  readonly mayHaveNews = true
  /** Whether the lives of pods are recorded as far as their events. */
  livesLag: () => boolean = () => false
  #standings: ReadonlyArray<NamespaceStanding>
  #frames: Pick<FrameWriter, "flush"> | undefined
  /** What the store knows, or will know from the frames before. */
  readonly #written: Map<string, NamespaceProgress>

  /** `states`: from where each goes on. `stored`: what the store knows. */
  constructor(
    states: ReadonlyArray<NamespaceProgress>,
    stored: ReadonlyArray<NamespaceProgress>,
    clock: Pick<Clock, "wallMicros">,
  ) {
    const parts: Parts = { wallMicros: () => clock.wallMicros(), changed: () => this.#frames?.flush() }
    this.#standings = states.map((state) => new NamespaceStanding(state, parts))
    this.#written = new Map(stored.map((progress) => [progress.namespace, progress]))
  }

  /** To be called before anything is recorded. */
  writeTo(frames: Pick<FrameWriter, "flush">): void {
    this.#frames = frames
  }

  get standings(): ReadonlyArray<NamespaceStanding> {
    return this.#standings
  }

  /** The kind has no namespaces after all: one watch sees everything. */
  only(standing: NamespaceStanding): void {
    this.#standings = [standing]
  }

  forgetHistory(): void {
    for (const standing of this.#standings) standing.forgetHistory()
  }

  get roomBytes(): number {
    return namespaceProgressRoom(
      new Set([...this.#written.keys(), ...this.#standings.map(({ namespace }) => namespace)]),
    )
  }

  newsBytes(nowMicros: number): number {
    const { moved, left } = this.#news(nowMicros)
    if (moved.length + left.length === 0) return 0
    return moved.reduce((bytes, each) => bytes + namespaceProgressBytes(each), namespaceProgressRoom(left))
  }

  write(builder: Pick<ObservationsBuilder, "namespaces">, nowMicros: number): boolean {
    const news = this.#news(nowMicros)
    if (news.moved.length + news.left.length === 0) return true
    if (!builder.namespaces({ ...news, livesLag: this.livesLag() })) return false
    for (const each of news.moved) this.#written.set(each.namespace, each)
    for (const namespace of news.left) this.#written.delete(namespace)
    return true
  }

  #news(nowMicros: number): Omit<NamespacesNews, "livesLag"> {
    const states = this.#standings.map((standing) => standing.state(nowMicros))
    const isComplete = this.#standings.every(({ isWatched, owes }) => isWatched() && owes === "")
    // When they were complete is known from when it was stored.
    const said = isComplete ? states.map((state) => ({ ...state, completeTime: 0 })) : states
    const watched = new Set(states.map(({ namespace }) => namespace))
    return {
      moved: said.filter((each) => {
        const written = this.#written.get(each.namespace)
        return written === undefined || !isSameProgress(written, each)
      }),
      left: [...this.#written.keys()].filter((namespace) => !watched.has(namespace)),
      isComplete,
    }
  }
}
