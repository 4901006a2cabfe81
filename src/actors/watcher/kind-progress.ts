/**
 * How frames state the progress of a kind's recording: the version up to which all of it is complete, with the time; or that of each namespace, where it is
 * watched namespace by namespace.
 */
import type { Clock } from "../../clock.ts"
import type { ResourceVersion } from "../../kube/offline.ts"
import type { GapReason } from "../../trace/index.ts"
import {
  isSameProgress,
  type KindResumePoint,
  type NamespaceListReason,
  type NamespaceProgress,
  type NamespacesNews,
  namespaceProgressBytes,
  namespaceProgressRoom,
  type ObservationsBuilder,
} from "../../wire/index.ts"
import type { FrameWriter } from "./frame-writer.ts"

/** How far a kind is recorded. */
export interface Completeness {
  readonly epoch: number
  /** The empty string before the first list. */
  readonly completeVersion: string
}

/** The progress of what one session watches, kept by the frames themselves or by one namespace's part of them. */
export interface Standing extends Completeness {
  /** µs since the Unix epoch of {@link Completeness.completeVersion}; 0 before. */
  readonly completeTime: number
  /** Everything up to `version` has been added or does not count. */
  reach(version: ResourceVersion | string): void
  /** Until it is false again, what is added happened before now, and more of it is to come. */
  behind(isBehind: boolean): void
  /** From now on nothing is complete, and the store learns that before anything of the list. */
  listBegins(reason: "first" | GapReason): void
  listEnds(version: string): void
}

export interface FrameProgress {
  /** Bytes to keep free for progress in each frame. */
  readonly roomBytes: number
  /** Whether {@link newsBytes} needs to be called. */
  readonly mayHaveNews: boolean
  /** Bytes that the news take in a frame; 0: there is none. */
  newsBytes(nowMicros: number): number
  /** Writes the progress into the frame, after everything that it covers. Returns false and writes nothing if there is no room. */
  write(builder: Pick<ObservationsBuilder, "completeThrough" | "namespaces">, nowMicros: number): boolean
}

/** UTF-8 needs at most three bytes for one UTF-16 unit. */
const bytesPerCharacter = 3

/**
 * Bytes kept in every frame for its resume version, 20 digits and more. Without them a frame that events had filled to the brim had no room
 * for one: a watcher killed right afterwards resumed before the frame and recorded all of its events again (seen in one of ten runs of the
 * kill tests).
 */
const versionBytes = 64 * bytesPerCharacter

export class WholeProgress implements FrameProgress {
  readonly roomBytes = versionBytes
  /** Everything delivered up to here is in a frame; `undefined` while nothing is complete, as during a list. */
  #reached: ResourceVersion | string | undefined
  /** The version and time in the last frame that stated them. */
  #completeVersion: string
  #completeTime: number
  /** What was reached happened before now, and more of it is to come. */
  #isBehind = false
  /** Whether the store has the version, but not yet the time up to which it is complete. */
  #owesTime = false

  constructor({ resumeVersion, completeTime }: Pick<KindResumePoint, "resumeVersion" | "completeTime">) {
    this.#completeVersion = resumeVersion
    this.#completeTime = completeTime
  }

  get completeVersion(): string {
    return this.#completeVersion
  }

  get completeTime(): number {
    return this.#completeTime
  }

  get mayHaveNews(): boolean {
    return this.#reached !== undefined
  }

  reach(version: ResourceVersion | string | undefined): void {
    this.#reached = version
  }

  /** While it is behind, versions advance and the time up to which the kind is complete does not. */
  behind(isBehind: boolean): void {
    if (this.#isBehind && !isBehind && this.#completeVersion !== "") {
      // Also if nothing has arrived.
      this.#owesTime = true
      this.#reached ??= this.#completeVersion
    }
    this.#isBehind = isBehind
  }

  listBegins(nowMicros: number): void {
    this.#reached = undefined
    this.#owesTime = false
    if (this.#completeTime === 0) this.#completeTime = nowMicros
  }

  newsBytes(): number {
    if (this.#reached === undefined) return 0
    const version = String(this.#reached)
    const hasNews = version !== this.#completeVersion || (this.#owesTime && !this.#isBehind)
    return hasNews ? version.length * bytesPerCharacter : 0
  }

  /** While nothing is complete there is nothing to state. */
  write(builder: Pick<ObservationsBuilder, "completeThrough">, nowMicros: number): boolean {
    if (this.#reached === undefined) return true
    const version = String(this.#reached)
    if (!builder.completeThrough(version, this.#isBehind)) return false
    this.#completeVersion = version
    this.#owesTime = this.#isBehind
    if (!this.#isBehind) this.#completeTime = nowMicros
    return true
  }
}

// The progress of a kind that is watched namespace by namespace: the state of each namespace, and what frames state about all of them
// together.
//
// While every namespace is watched the kind is complete, up to a version in each. As soon as one is not (it is being listed, its server
// does not respond, it is forbidden) the kind is complete nowhere: the store keeps the time until which it was, so that no more is promised
// than is recorded, and keeps the state of each namespace, as a running list does for the next life.

/** What a namespace needs from the progress of the whole kind. */
interface Parts {
  wallMicros(): number
  /** The store must learn of this change before anything that follows. */
  changed(): void
}

/** One namespace; its sink reports to it what was delivered. */
export class NamespaceStanding implements Standing {
  readonly namespace: string
  /** Whether the server is sending the namespace's changes now; called whenever a frame is sent. */
  isWatched: () => boolean = () => false
  #isListed = false
  #version: string
  #time: number
  #owes: NamespaceListReason
  #reached: ResourceVersion | string | undefined
  #isBehind = false
  readonly #parts: Parts

  constructor({ namespace, completeThrough, completeTime, listReason }: NamespaceProgress, parts: Parts) {
    this.namespace = namespace
    this.#version = completeThrough
    this.#time = completeTime
    this.#owes = listReason
    this.#parts = parts
  }

  /** After a restored cluster, too, `owes` alone decides about the reason of the first list, so epochs have no meaning here. */
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

  /** Called for each event: the hot path. */
  reach(version: ResourceVersion | string): void {
    this.#reached = version
  }

  behind(isBehind: boolean): void {
    this.state(this.#parts.wallMicros())
    this.#isBehind = isBehind
    if (!isBehind) this.#time = Math.max(this.#parts.wallMicros(), this.#time)
    this.#parts.changed()
  }

  listBegins(reason: "first" | GapReason): void {
    // Events that were delivered may not be in a frame yet, but will be in the one that contains this state.
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

  /** Whether a list has ended since the previous call. */
  takeListed(): boolean {
    const isListed = this.#isListed
    this.#isListed = false
    return isListed
  }

  /** The complete version belongs to a history that is over. The time remains: the gap between the histories begins there. */
  forgetHistory(): void {
    if (this.#version !== "" || this.#owes !== "first") this.#owes = "cluster-restored"
    this.#version = ""
    this.#reached = undefined
  }

  /** The state as of now: everything delivered is in the frame that contains it. */
  state(nowMicros: number): NamespaceProgress {
    const reached = this.#reached === undefined ? this.#version : String(this.#reached)
    if (reached !== this.#version) {
      this.#version = reached
      if (!this.#isBehind) this.#time = Math.max(nowMicros, this.#time)
    }
    return {
      namespace: this.namespace,
      completeThrough: this.#version,
      completeTime: this.#time,
      listReason: this.#owes,
    }
  }
}

/** All namespaces of one kind, and what frames state about them: only those that have changed since the previous frame. */
export class ProgressByNamespace implements FrameProgress {
  readonly mayHaveNews = true
  /** Whether pod lifecycles are recorded less far than events. */
  livesLag: () => boolean = () => false
  #standings: ReadonlyArray<NamespaceStanding>
  #frames: Pick<FrameWriter, "flush"> | undefined
  /** What the store knows, or will learn from frames already written. */
  readonly #written: Map<string, NamespaceProgress>

  /** `states`: where each namespace resumes. `stored`: what the store knows. */
  constructor(
    states: ReadonlyArray<NamespaceProgress>,
    stored: ReadonlyArray<NamespaceProgress>,
    clock: Pick<Clock, "wallMicros">,
  ) {
    const parts: Parts = { wallMicros: () => clock.wallMicros(), changed: () => this.#frames?.flush() }
    this.#standings = states.map((state) => new NamespaceStanding(state, parts))
    this.#written = new Map(stored.map((progress) => [progress.namespace, progress]))
  }

  /** Call before anything is recorded. */
  writeTo(frames: Pick<FrameWriter, "flush">): void {
    this.#frames = frames
  }

  get standings(): ReadonlyArray<NamespaceStanding> {
    return this.#standings
  }

  /** The kind turned out to be cluster-scoped: one watch sees everything. */
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
    // The time until which they were complete is known from when that was stored.
    const stated = isComplete ? states.map((state) => ({ ...state, completeTime: 0 })) : states
    const watched = new Set(states.map(({ namespace }) => namespace))
    return {
      moved: stated.filter((each) => {
        const written = this.#written.get(each.namespace)
        return written === undefined || !isSameProgress(written, each)
      }),
      left: [...this.#written.keys()].filter((namespace) => !watched.has(namespace)),
      isComplete,
    }
  }
}
