/**
 * What the recorder's container asks for and may take, from measurements (measured-memory.ts, and bench/results/ingest.md). The
 * formulas are printed beside the numbers, because whoever tunes them has to know what they stand for.
 */
import {
  exportMegabytes,
  includedInThreeKinds as included,
  mailboxMegabytes,
  measuredMemory,
  usualMegabytes,
  worstMegabytes,
} from "../recorder/memory/measured-memory.ts"
import { watchedKinds } from "../recorder/pod-stream.ts"
import type { ManifestSettings } from "./settings.ts"

/** µs of CPU time per change, the whole process. */
const microsecondsPerChange = 10.3
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
  const { threeKinds, furtherKind, thousandObjects } = measuredMemory
  const kinds = watchedKinds(tracked).kinds.length
  const usual = usualMegabytes(kinds, expectedObjects)
  const worst = worstMegabytes(kinds, expectedObjects)
  const changes = (expectedChangesPerSecond * microsecondsPerChange) / 1000
  const memory = mebibytes(usual)
  const cpu = Math.ceil((listingMillicores + changes) / 10) * 10
  return {
    // A node that runs out of disk evicts first what uses more than it asked for.
    requests: { cpu: `${cpu}m`, memory, ...(!volume.isClaim && { "ephemeral-storage": volume.size }) },
    limits: { memory: mebibytes(worst) },
    formula: [
      `memory, MB: ${threeKinds} for ${included.kinds} kinds under load + ${furtherKind} for each further (${kinds} are watched)`,
      `  + ${thousandObjects} for 1,000 objects beyond ${included.objects} (${expectedObjects} are expected) = ${Math.ceil(usual)}; the limit`,
      `  adds ${Math.ceil(mailboxMegabytes(kinds))} for mailboxes while the disk is full, ${Math.ceil(exportMegabytes(expectedObjects))} for an export`,
      `  and ${measuredMemory.reader} for questions about the recording.`,
      `cpu: ${listingMillicores}m for the first lists + ${microsecondsPerChange} µs for each of ${expectedChangesPerSecond} changes a second. No limit: the API server`,
      "  hangs up on a reader that is throttled.",
      ...(volume.isClaim
        ? []
        : ["ephemeral-storage: the emptyDir. A full node evicts first what uses more than it asked for."]),
    ],
  }
}

/** Megabytes rounded up to 16 MiB. */
const mebibytes = (megabytes: number): string => `${Math.ceil((megabytes * 1e6) / 2 ** 24) * 16}Mi`
