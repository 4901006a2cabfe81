/**
 * The memory limits of the recorder's threads, derived from what the container, or the machine, allows.
 *
 * Memory beyond the measured needs of so many kinds is left for growth, by objects and by exports. It is divided among the roles:
 *
 * | role | minimum, MiB | share of the rest | maximum, MiB |
 * | --- | --- | --- | --- |
 * | watchers | 60 each | 45 %, which any one of them may take | 512 each |
 * | exporter | 64 | 40 % | 1024 |
 * | reader | 16 | 5 % | 256 |
 * | store | 24 | 5 % | 512 |
 * | owner-resolver | 32 | 5 % | 256 |
 *
 * So all threads at their limits stay within the bound, with full mailboxes and a running export, as long as at most one watcher grows
 * beyond the size measured for few objects. Which one is not known: most clusters have most of their objects in one kind, and even shares
 * would end its watcher while there is memory left. A thread that watchers share has the limit of one watcher: 32 of them with few objects take
 * 13 MB of heap.
 *
 * If there is less than needed, every role gets its minimum, because it cannot work with less, and {@link describeShortage} returns a
 * warning. The kernel may then kill the process, but nothing that was acknowledged is lost.
 *
 * V8 ends a thread that reaches its limit, and it is restarted; a container that reaches its limit is killed as a whole.
 */
import type { MemoryLimits } from "../../runtime/actor.ts"
import type { MemoryBound } from "../../runtime/container-memory.ts"
import { worstMegabytes } from "./measured-memory.ts"

/** Roles that run in their own workers. */
export type WorkerRole = "watcher" | "store" | "owner-resolver" | "exporter" | "reader"

/**
 * Memory limits per role in MiB if memory is plentiful; otherwise {@link memoryLimitsOf} lowers them. Young generations are deliberately small:
 * the garbage of an event is dead at once, and 1 MiB semi-spaces reduced a prototype from 330 to 217 MB (docs/reference/actors.md#memory).
 * Old generations are bounds against leaks, far above what the role needs: a watcher's index of 100,000 objects takes 40 MB.
 */
export const memoryLimits: Readonly<Record<WorkerRole, MemoryLimits>> = {
  watcher: { oldGenerationMb: 512, youngGenerationMb: 3 },
  store: { oldGenerationMb: 512, youngGenerationMb: 3 },
  "owner-resolver": { oldGenerationMb: 256, youngGenerationMb: 3 },
  exporter: { oldGenerationMb: 1024, youngGenerationMb: 3 },
  reader: { oldGenerationMb: 256, youngGenerationMb: 3 },
}

interface Share {
  /** MiB. */
  readonly least: number
  /** Share of the rest, 0 to 1. */
  readonly part: number
}

const shares: Readonly<Record<WorkerRole, Share>> = {
  // 8.5 MB without objects, 0.3 MB per 1,000 of them, and 0.67 MB with pod lifecycles: 60 MiB are 80,000 pods.
  watcher: { least: 60, part: 0.45 },
  exporter: { least: 64, part: 0.4 },
  // 6 MB: its counts are in typed arrays outside of the heap, 41 bytes per object, and it keeps nothing between queries.
  reader: { least: 16, part: 0.05 },
  // 10 MB in any case: its knowledge of objects is in the database.
  store: { least: 24, part: 0.05 },
  // 24 MB with its maximum number of concurrent look-ups.
  "owner-resolver": { least: 32, part: 0.05 },
}

/** Limits of each role's next thread, in a recorder of so many kinds. */
export const memoryLimitsOf = ({ bytes }: MemoryBound, kinds: number): Readonly<Record<WorkerRole, MemoryLimits>> => {
  const left = Math.max(0, bytes - neededBytes(kinds)) / mebibyte
  const limits = (role: WorkerRole): MemoryLimits => {
    const { least, part } = shares[role]
    const most = memoryLimits[role]
    return { ...most, oldGenerationMb: Math.min(most.oldGenerationMb, Math.floor(least + part * left)) }
  }
  return {
    watcher: limits("watcher"),
    store: limits("store"),
    "owner-resolver": limits("owner-resolver"),
    exporter: limits("exporter"),
    reader: limits("reader"),
  }
}

/** Why memory may not be enough, and what to do; `undefined` if it is. */
export const describeShortage = ({ bytes, file }: MemoryBound, kinds: number): string | undefined => {
  const needed = neededBytes(kinds)
  if (bytes >= needed) return undefined
  const whose = file === undefined ? "this machine has" : `${file} limits this process to`
  const what = `a recorder of ${kinds} ${kinds === 1 ? "kind" : "kinds"} needs`
  return (
    `${whose} ${inMebibytes(bytes)} of memory, and ${what} ${inMebibytes(needed)} when the disk is full during ` +
    "an export: it may then be killed for lack of memory. Increase it (for a pod, resources.limits.memory, which reel k8s " +
    "computes), or record fewer kinds"
  )
}

/** For few objects, because their number is not known in advance. */
const neededBytes = (kinds: number): number => worstMegabytes(kinds, 0) * 1e6

const mebibyte = 1024 * 1024

const inMebibytes = (bytes: number): string => `${Math.ceil(bytes / mebibyte)} MiB`
