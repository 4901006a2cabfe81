/** What is measured: programs that follow the changes of a cluster, in processes of their own. */
import type { BenchCluster } from "../load/generator-process.ts"

export interface SubjectOptions {
  /** Kinds to follow as the recorder's configuration names them. */
  readonly kinds: ReadonlyArray<string>
  /** Directory for CPU profiles, one per thread. Default: none are taken. */
  readonly profileDirectory?: string | undefined
}

export type StartSubject = (cluster: BenchCluster, options: SubjectOptions) => Promise<RunningSubject>

export interface RunningSubject extends AsyncDisposable {
  /** The process, for /proc. */
  readonly pid: number
  /** Everything listed was taken. Resolves with the moment, ms as `performance.now`. Rejects after `timeoutMs`. */
  listed(timeoutMs: number): Promise<number>
  /**
   * `changes` changes in all were taken: recorded on disk, delivered to the callback, or read. Resolves with the moment, ms as
   * `performance.now`. Rejects after `timeoutMs`.
   */
  taken(changes: number, timeoutMs: number): Promise<number>
  /** All its processes, for those that have more than one. */
  processes?(): ReadonlyArray<number>
  /** What it told of how far it is, each time it was asked; only the recorder can be asked. */
  readonly progress?: ReadonlyArray<Progress>
  /** Collects its garbage, in all threads. Nothing that is measured afterwards is comparable, except what is left. */
  collectGarbage?(): Promise<void>
  /** Bytes on disk. */
  storedBytes?(): Promise<number>
}

/** The recorder's own counters at a moment. */
export interface Progress {
  /** ms as `performance.now`. */
  readonly atMs: number
  /** Changes committed. */
  readonly changes: number
  /** How long the oldest uncommitted frame had waited in the store, ms. */
  readonly lagMs: number
  /** Longest transaction since the look before, ms. */
  readonly longestCommitMs: number
}
