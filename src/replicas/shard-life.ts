/**
 * The process of one shard on this replica, as a pure state machine: there is at most one, it is started while the shard is this replica's, and is ended, at last by
 * force, once it is not.
 */

export type ShardLife =
  /** There is no process, and none is wanted. */
  | { readonly tag: "none" }
  /** The process ended by itself; the next one is started at `startMs` (monotonic). */
  | { readonly tag: "pausing"; readonly startMs: number }
  | { readonly tag: "running" }
  /** It was told to end, and is killed at `killMs` (monotonic). `isOwned`: the shard is this replica's again, and another process follows. */
  | { readonly tag: "ending"; readonly isOwned: boolean; readonly killMs: number }
  | { readonly tag: "killed"; readonly isOwned: boolean }

export type ShardEvent =
  | { readonly tag: "owned" }
  | { readonly tag: "lost" }
  /** The process has ended, or could not be started. `pauseMs`: before the next one, if none told it to end. */
  | { readonly tag: "ended"; readonly pauseMs: number }
  /** Time has passed. */
  | { readonly tag: "time" }

type ShardCommand = "start" | "terminate" | "kill"

interface ShardStep {
  readonly life: ShardLife
  readonly command?: ShardCommand
}

const start: ShardStep = { life: { tag: "running" }, command: "start" }
const none: ShardStep = { life: { tag: "none" } }

/** `graceMs`: that a process has to ship what it recorded last, and to release its Lease. */
export const afterShardEvent = (life: ShardLife, event: ShardEvent, nowMs: number, graceMs: number): ShardStep => {
  switch (event.tag) {
    case "owned":
      if (life.tag === "none") return start
      return { life: life.tag === "ending" || life.tag === "killed" ? { ...life, isOwned: true } : life }
    case "lost":
      if (life.tag === "running")
        return { life: { tag: "ending", isOwned: false, killMs: nowMs + graceMs }, command: "terminate" }
      if (life.tag === "ending" || life.tag === "killed") return { life: { ...life, isOwned: false } }
      return none
    case "ended":
      if (life.tag === "running") return { life: { tag: "pausing", startMs: nowMs + event.pauseMs } }
      if (life.tag === "ending" || life.tag === "killed") return life.isOwned ? start : none
      return { life }
    case "time":
      if (life.tag === "pausing" && nowMs >= life.startMs) return start
      if (life.tag === "ending" && nowMs >= life.killMs)
        return { life: { tag: "killed", isOwned: life.isOwned }, command: "kill" }
      return { life }
  }
}

/** Monotonic ms at which the event `time` is due; `undefined`: never. */
export const dueMs = (life: ShardLife): number | undefined =>
  life.tag === "pausing" ? life.startMs : life.tag === "ending" ? life.killMs : undefined
