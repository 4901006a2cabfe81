/**
 * What a recorder needs, in MB of 10^6 bytes, as measured (bench/results/memory.md, kinds.md and export.md; Node 26 on a machine of
 * two cores). The manifests ask for it, and the limits of the threads are derived from it.
 */

export const measuredMemory = {
  /** Largest along 3 million changes, with three kinds of 1,000 objects. */
  threeKinds: 271,
  /** Each further kind. */
  furtherKind: 14,
  /** 100,000 Pods in the first list (331) beyond three small kinds after theirs (214), per 1,000 objects. */
  thousandObjects: 1.2,
  /** An export under way: 73 for 70,000 events of 3 kB. */
  export: 80,
  /** Beyond that, what the exporter knows of each object while it writes a whole state: 117 of heap for 100,000 of them. */
  exportThousandObjects: 0.9,
  /** Questions under way: the reader's thread and its heap, at the limit of a recorder without memory to spare; see memory-shares.ts. */
  reader: 20,
  /** JavaScript heap of a watcher of few objects, garbage aside. */
  watcherHeap: 8.5,
  /** JavaScript heap of the main thread. */
  mainHeap: 24,
  /** Of the three kinds, what is neither the program's files, which the kernel can drop, nor one of those heaps. */
  threeKindsBeside: 102,
  /** Of each further kind, what is not heap. */
  furtherKindBeside: 5.5,
  /** Of an export, what is not the exporter's heap. */
  exportBeside: 16,
  /** Of the reader, what is not its heap. */
  readerBeside: 6,
} as const

/** Objects and kinds of `threeKinds`, which need not be counted again. */
export const includedInThreeKinds = { kinds: 3, objects: 3000 } as const

/** What mailboxes hold when the disk is full: 64 MiB in windows and 64 MiB in buffers, or 2 MiB a kind (mailbox-limits.ts). */
export const mailboxMegabytes = (kinds: number): number => Math.max(134, 2.1 * kinds)

const furtherKinds = (kinds: number): number => Math.max(0, kinds - includedInThreeKinds.kinds)

/** Without an export and with a disk that keeps up. `kinds`: those that are watched. */
export const usualMegabytes = (kinds: number, objects: number): number =>
  measuredMemory.threeKinds +
  measuredMemory.furtherKind * furtherKinds(kinds) +
  measuredMemory.thousandObjects * thousandsBeyond(objects)

/** With an export of everything and questions about the recording, while the disk is full. */
export const worstMegabytes = (kinds: number, objects: number): number =>
  usualMegabytes(kinds, objects) + mailboxMegabytes(kinds) + exportMegabytes(objects) + measuredMemory.reader

export const exportMegabytes = (objects: number): number =>
  measuredMemory.export + measuredMemory.exportThousandObjects * thousandsBeyond(objects)

/** What of the worst case no thread's limit bounds. */
export const unlimitedMegabytes = (kinds: number): number =>
  measuredMemory.threeKindsBeside +
  measuredMemory.mainHeap +
  measuredMemory.furtherKindBeside * furtherKinds(kinds) +
  mailboxMegabytes(kinds) +
  measuredMemory.exportBeside +
  measuredMemory.readerBeside

const thousandsBeyond = (objects: number): number => Math.max(0, objects - includedInThreeKinds.objects) / 1000
