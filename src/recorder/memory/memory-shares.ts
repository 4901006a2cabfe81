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
 * | archivist, if there is one | 64 | 2 % | 128 |
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

import type { MemoryBound, MemoryLimits } from "../../runtime/index.ts"
import { defaultSharing } from "../watchers/placement.ts"

/** Roles that run in their own workers. */
export type WorkerRole = "watcher" | "store" | "owner-resolver" | "exporter" | "reader" | "archivist"

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
  archivist: { oldGenerationMb: 128, youngGenerationMb: 3 },
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
  // The rows of a segment as text; its bytes, 8 MiB, are outside of the heap. More objects and owners are more of what it remembers to have sent.
  archivist: { least: 64, part: 0.02 },
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
    archivist: limits("archivist"),
  }
}

/** What each of so many recorders in one container, or on one machine, may take. */
export const shareOf = ({ bytes, ...bound }: MemoryBound, sharing: number): SharedMemory => ({
  ...bound,
  bytes: Math.floor(bytes / sharing),
  sharing,
})

/** `bytes`: of one of the recorders that share it. */
type SharedMemory = MemoryBound & { readonly sharing?: number }

/** Why memory may not be enough, and what to do; `undefined` if it is. */
export const describeShortage = ({ bytes, file, sharing = 1 }: SharedMemory, kinds: number): string | undefined => {
  const needed = neededBytes(kinds)
  if (bytes >= needed) return undefined
  const whose = file === undefined ? "this machine has" : `${file} limits this process to`
  const what = `a recorder of ${kinds} ${kinds === 1 ? "kind" : "kinds"} needs`
  return (
    `${whose} ${inMebibytes(bytes * sharing)} of memory${sharing > 1 ? ` for ${sharing} recorders` : ""}, and ${what} ${inMebibytes(needed)} when the disk is full during ` +
    "an export: it may then be killed for lack of memory. Increase it (for a pod, resources.limits.memory, which reel k8s " +
    "computes), or record fewer kinds"
  )
}

/** For few objects, because their number is not known in advance. */
const neededBytes = (kinds: number): number => worstMegabytes(kinds, 0) * 1e6

const mebibyte = 1024 * 1024

const inMebibytes = (bytes: number): string => `${Math.ceil(bytes / mebibyte)} MiB`

// The measured memory needs of a recorder, in MB of 10^6 bytes (bench/results/memory.md, kinds.md and export.md; Node 26 on a machine of
// two cores). The manifests request it, and the limits of the threads are derived from it.

export const measuredMemory = {
  /** Peak over 3 million changes, with three kinds of 1,000 objects. */
  threeKinds: 271,
  /** Each further kind with a worker of its own, and each further worker. */
  furtherKind: 14,
  /** Each kind beyond the first eight, of which most share workers: 150 kinds (350) compared with 20 (173), without their workers. */
  sharedKind: 1,
  /** Per 1,000 objects: 100,000 Pods in the first list (331) compared with three small kinds after their first lists (214). */
  thousandObjects: 1.2,
  /** A running export: 73 for 70,000 events of 3 kB. */
  export: 80,
  /** In addition, the exporter's record of each object while it writes a whole state: 117 of heap for 100,000 of them. */
  exportThousandObjects: 0.9,
  /**
   * Queries, as many as may run at once (eight), about a recording of a million events, in a container of 560 MiB: the reader's thread and its heap, and
   * for each query some 15 of unpacked blocks.
   */
  reader: 185,
  /** The archivist's thread, with a segment of 8 MiB. */
  archivist: 60,
  /** JavaScript heap of a watcher of few objects, excluding garbage. */
  watcherHeap: 8.5,
  /** JavaScript heap of the main thread. */
  mainHeap: 24,
  /** The part of `threeKinds` that is neither program files, which the kernel can drop, nor one of those heaps. */
  threeKindsBeside: 102,
  /** The part of each further kind outside of the heap. */
  furtherKindBeside: 5.5,
  /** The part of each shared kind outside of the heap. */
  sharedKindBeside: 0.9,
  /** The part of an export outside of the exporter's heap. */
  exportBeside: 16,
  /** The part of the queries outside of the reader's heap: unpacked blocks. */
  readerBeside: 155,
} as const

/** Objects and kinds already included in `threeKinds`. */
export const includedInThreeKinds = { kinds: 3, objects: 3000 } as const

/** Content of all mailboxes when the disk is full: 64 MiB in windows and 64 MiB in buffers, or 2 MiB a kind (mailbox-limits.ts). */
export const mailboxMegabytes = (kinds: number): number => Math.max(134, 2.1 * kinds)

/** Workers of so many kinds: one each, or shared ones, one for pods, and as many as busy kinds may move to. */
export const watcherWorkers = (kinds: number): number => {
  const { aloneUpTo, residents, mostMoved } = defaultSharing
  return kinds <= aloneUpTo ? kinds : Math.min(kinds, Math.ceil(kinds / residents) + 1 + mostMoved)
}

const furtherWorkers = (kinds: number): number => Math.max(0, watcherWorkers(kinds) - includedInThreeKinds.kinds)

const sharedKinds = (kinds: number): number => Math.max(0, kinds - defaultSharing.aloneUpTo)

/** Without an export and with a disk that keeps up. `kinds`: the number of watched kinds. */
export const usualMegabytes = (kinds: number, objects: number): number =>
  measuredMemory.threeKinds +
  measuredMemory.furtherKind * furtherWorkers(kinds) +
  measuredMemory.sharedKind * sharedKinds(kinds) +
  measuredMemory.thousandObjects * thousandsBeyond(objects)

/** During an export of everything and queries about the recording, while the disk is full. */
export const worstMegabytes = (kinds: number, objects: number): number =>
  usualMegabytes(kinds, objects) + mailboxMegabytes(kinds) + exportMegabytes(objects) + measuredMemory.reader

export const exportMegabytes = (objects: number): number =>
  measuredMemory.export + measuredMemory.exportThousandObjects * thousandsBeyond(objects)

/** The part of the worst case that no thread's limit bounds. */
export const unlimitedMegabytes = (kinds: number): number =>
  measuredMemory.threeKindsBeside +
  measuredMemory.mainHeap +
  measuredMemory.furtherKindBeside * furtherWorkers(kinds) +
  measuredMemory.sharedKindBeside * sharedKinds(kinds) +
  mailboxMegabytes(kinds) +
  measuredMemory.exportBeside +
  measuredMemory.readerBeside

const thousandsBeyond = (objects: number): number => Math.max(0, objects - includedInThreeKinds.objects) / 1000
