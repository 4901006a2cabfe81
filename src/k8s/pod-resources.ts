/**
 * What the recorder's container asks for and may take, from measurements (bench/results/memory.md and ingest.md, of Node 26
 * on a machine of two cores). The formulas are printed beside the numbers, because whoever tunes them has to know what they
 * stand for.
 */
import { watchedKinds } from "../tracer/pod-stream.ts"
import type { ManifestSettings } from "./settings.ts"

/** MB, of 10^6 bytes as in the tables. */
const measured = {
  /** Largest along 3 million changes, with three kinds of 1,000 objects. */
  threeKinds: 271,
  /** Each further kind. */
  furtherKind: 14,
  /** 100,000 Pods in the first list (331) beyond three small kinds after theirs (214), per 1,000 objects. */
  thousandObjects: 1.2,
  /** What mailboxes hold when the disk is full: 64 MiB in windows and 64 MiB in buffers, or 2 MiB a kind. */
  mailboxes: (kinds: number) => Math.max(134, 2.1 * kinds),
  /** An export under way: 73 for 70,000 events of 3 kB. */
  export: 80,
  /** µs of CPU time per change, the whole process. */
  microsecondsPerChange: 10.3,
} as const

/** Objects and kinds of `threeKinds`, which need not be counted again. */
const included = { kinds: 3, objects: 3000 } as const
/** CPU for the first lists: 100,000 Pods take 8.6 s of it, and so 43 s at this share of one. */
const listingMillicores = 200

export interface PodResources {
  readonly requests: { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage"?: string }
  /** No limit of CPU: a reader that is throttled is hung up on by the API server after some 100 ms. */
  readonly limits: { readonly memory: string }
  /** Lines that say how the numbers came about. */
  readonly formula: ReadonlyArray<string>
}

export const podResources = ({
  kinds: tracked,
  expectedObjects,
  expectedChangesPerSecond,
  volume,
}: Pick<ManifestSettings, "kinds" | "expectedObjects" | "expectedChangesPerSecond" | "volume">): PodResources => {
  const kinds = watchedKinds(tracked).kinds.length
  const ofKinds = measured.furtherKind * Math.max(0, kinds - included.kinds)
  const ofObjects = measured.thousandObjects * (Math.max(0, expectedObjects - included.objects) / 1000)
  const usual = measured.threeKinds + ofKinds + ofObjects
  const worst = usual + measured.mailboxes(kinds) + measured.export
  const changes = (expectedChangesPerSecond * measured.microsecondsPerChange) / 1000
  const memory = mebibytes(usual)
  const cpu = Math.ceil((listingMillicores + changes) / 10) * 10
  return {
    // A node that runs out of disk evicts first what uses more than it asked for.
    requests: { cpu: `${cpu}m`, memory, ...(!volume.isClaim && { "ephemeral-storage": volume.size }) },
    limits: { memory: mebibytes(worst) },
    formula: [
      `memory, MB: ${measured.threeKinds} for ${included.kinds} kinds under load + ${measured.furtherKind} for each further (${kinds} are watched)`,
      `  + ${measured.thousandObjects} for 1,000 objects beyond ${included.objects} (${expectedObjects} are expected) = ${Math.ceil(usual)}; the limit`,
      `  adds ${Math.ceil(measured.mailboxes(kinds))} for mailboxes while the disk is full and ${measured.export} for an export.`,
      `cpu: ${listingMillicores}m for the first lists + ${measured.microsecondsPerChange} µs for each of ${expectedChangesPerSecond} changes a second. No limit: the API server`,
      "  hangs up on a reader that is throttled.",
      ...(volume.isClaim
        ? []
        : ["ephemeral-storage: the emptyDir. A full node evicts first what uses more than it asked for."]),
    ],
  }
}

/** Megabytes rounded up to 16 MiB. */
const mebibytes = (megabytes: number): string => `${Math.ceil((megabytes * 1e6) / 2 ** 24) * 16}Mi`
