/** Lives of a watcher of ConfigMaps, over a real recording and a simulated server. */

import { type KindWatch, type KindWatchOptions, watchWhole } from "../../../src/actors/watcher/kind-watch.ts"
import { watchNamespaces } from "../../../src/actors/watcher/namespace-watch.ts"
import type { LoadedState } from "../../../src/actors/watcher/objects/loaded-state.ts"
import { isWatchedByNamespace } from "../../../src/actors/watcher/resume-point.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { defaultWatchPolicy } from "../../../src/kube/index.ts"
import type { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"
import { type PlayedCluster, PlayedServer } from "./played-cluster.ts"

export const kind = "v1.ConfigMap"
export const both = ["shop", "stock"]

/** The parameters of a life. */
export interface Scene {
  /** Of the recording. */
  readonly directory: string
  readonly cluster: PlayedCluster
  readonly clock: ManualClock
  /** `undefined`: the whole cluster. Default: {@link both}. */
  readonly namespaces?: ReadonlyArray<string> | undefined
}

export type Happening = "serve" | "bookmark" | "expire" | "hang up" | "commit" | "wait" | "press" | "relieve"

/** One life of a watcher, starting from the recording; it ends when `end` is called, and some of its last frames may be lost. */
export class Life {
  readonly server: PlayedServer
  readonly clock: ManualClock
  readonly watch: KindWatch
  readonly states: string[] = []
  readonly #archive: ArchiveWriter
  readonly #incarnation: number
  #frames: Buffer[] = []
  #isWritable = true
  #number = 0
  #reserved = Buffer.alloc(0)

  private constructor(scene: Scene) {
    const namespaces = "namespaces" in scene ? scene.namespaces : both
    this.server = new PlayedServer(scene.cluster)
    this.clock = scene.clock
    this.#archive = ArchiveWriter.open(scene.directory, { now: () => scene.clock.wallMicros() })
    this.#incarnation = this.#archive.nextIncarnation("watcher")
    const loaded = loadedFrom(this.#archive)
    const options = this.#options(namespaces)
    this.watch = isWatchedByNamespace(namespaces, loaded.resume)
      ? watchNamespaces(options, namespaces, loaded)
      : watchWhole(options, loaded)
  }

  static async begin(scene: Scene): Promise<Life> {
    const life = new Life(scene)
    life.watch.start()
    await life.settle()
    return life
  }

  /** Requests are served; back-offs pass. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 4; turns++) {
      await turn()
      const waits = this.watch.sessions.some(({ phase }) => phase.tag === "backing-off")
      if (waits) this.clock.advance(60_000)
    }
    await turn()
  }

  /** Whether the store accepts frames: if not, the watcher notices at its next read. */
  set isWritable(isWritable: boolean) {
    this.#isWritable = isWritable
    if (isWritable) for (const session of this.watch.sessions) session.resume()
  }

  /** Until everything is watched and all frames are sent. */
  async serveAll(): Promise<void> {
    this.isWritable = true
    for (let rounds = 0; rounds < 20; rounds++) {
      await this.settle()
      const served = this.server.watched.reduce((sum, namespace) => sum + this.server.serve(namespace, 1000), 0)
      const isWatched = this.watch.sessions.every(({ phase }) => phase.tag === "watching")
      if (isWatched && served === 0) break
    }
    for (const namespace of this.server.watched) this.server.bookmark(namespace)
    this.commit()
  }

  /** The store commits what was sent, or only part of it. */
  commit(most = Number.POSITIVE_INFINITY): void {
    if (most === Number.POSITIVE_INFINITY) this.watch.recorder.frames.flush()
    const frames = this.#frames.splice(0)
    for (const frame of frames.slice(0, most)) this.#archive.append("watcher", this.#incarnation, ++this.#number, frame)
    this.#archive.commit()
    // Frames can only be lost together with the life that sent them.
    this.#frames = frames.slice(most === Number.POSITIVE_INFINITY ? frames.length : most)
  }

  /**
   * A possible event in a life, in a namespace or, without one, on the stream of the whole kind. `amount`: changes served, or 300 ms
   * waited.
   */
  meet(what: Happening, namespace: string | undefined, amount: number): void {
    switch (what) {
      case "serve":
        return void this.server.serve(namespace, amount)
      case "bookmark":
        return void this.server.bookmark(namespace)
      case "expire":
        return void this.server.expire(namespace)
      case "hang up":
        return void this.server.hangUp(namespace)
      case "commit":
        return this.commit()
      case "wait":
        return void this.clock.advance(amount * 300)
      case "press":
        this.isWritable = false
        return
      case "relieve":
        this.isWritable = true
    }
  }

  /** Killed: only so many of the uncommitted frames arrived. */
  end(arrived = Number.POSITIVE_INFINITY): void {
    this.commit(arrived)
    for (const session of this.watch.sessions) session.stop()
    this.#frames = []
    this.#archive.close()
  }

  get state() {
    return this.#archive.kindState(kind)
  }

  #options(namespaces: ReadonlyArray<string> | undefined): KindWatchOptions {
    const isWritable = (): boolean => this.#isWritable
    return {
      config: {
        gvk: kind,
        tracksPods: false,
        detect: "all",
        ignore: [],
        keepManagedFields: true,
        skipOwned: false,
        labelSelector: undefined,
        fieldSelector: undefined,
        namespaces,
        policy: { ...defaultWatchPolicy, relistLimit: 1000 },
        reportEvents: false,
        windowBytes: 0,
        bufferBytes: 0,
      },
      gvk: { group: "", version: "v1", kind: "ConfigMap" },
      client: this.server,
      outlet: {
        get isWritable() {
          return isWritable()
        },
        reserve: (minimumBytes) => {
          this.#reserved = Buffer.alloc(Math.max(minimumBytes, 4096))
          return this.#reserved
        },
        commit: (length) => this.#frames.push(this.#reserved.subarray(0, length)),
      },
      clock: this.clock,
      random: () => 0.5,
      listener: {
        stateChanged: (state, detail) => void this.states.push(`${state}: ${detail}`),
        alarm: () => undefined,
        unauthorized: () => undefined,
        clusterIdentified: (uid) => {
          this.#archive.metadata.set("clusterUid", uid)
        },
      },
      recorded: undefined,
    }
  }
}

export const loadedFrom = (archive: ArchiveWriter): LoadedState => {
  const { completeThrough, completeThroughTime, lastEventTime, ...rest } = archive.kindState(kind)
  const clusterUid = rest.clusterUid === "" ? (archive.metadata.get("clusterUid") ?? "") : rest.clusterUid
  return {
    resume: {
      ...rest,
      clusterUid,
      resumeVersion: completeThrough,
      completeTime: completeThroughTime,
      lastTime: lastEventTime,
    },
    objects: [...archive.liveObjects(kind)].flat(),
    pods: { nextPodNumber: 1, pods: [], lives: { resumeVersion: "", namespaces: [], epoch: 0, completeTime: 0 } },
  }
}
