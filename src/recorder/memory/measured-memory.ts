/**
 * The measured memory needs of a recorder, in MB of 10^6 bytes (bench/results/memory.md, kinds.md and export.md; Node 26 on a machine of
 * two cores). The manifests request it, and the limits of the threads are derived from it.
 */
import { defaultSharing } from "../watchers/placement.ts"

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
