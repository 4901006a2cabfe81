/** What is measured: programs that follow the changes of a cluster, in processes of their own. */
import type { BenchCluster } from "./generator-process.ts"

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
  /** Everything listed was taken. Rejects after `timeoutMs`. */
  listed(timeoutMs: number): Promise<void>
  /**
   * `changes` changes in all were taken: recorded on disk, delivered to the callback, or read. Rejects after `timeoutMs`.
   */
  taken(changes: number, timeoutMs: number): Promise<void>
  /** Further figures at this moment, by name; only the recorder has any. */
  readonly progress?: ReadonlyArray<Progress>
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
