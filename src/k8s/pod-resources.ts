/**
 * Resource requests and limits of the recorder's container, from measurements (memory-shares.ts and bench/results/ingest.md). The
 * formulas are printed beside the numbers, for users who tune them.
 */
import { quantityOf } from "../kube/quantity.ts"
import {
  exportMegabytes,
  includedInThreeKinds as included,
  mailboxMegabytes,
  measuredMemory,
  usualMegabytes,
  watcherWorkers,
  worstMegabytes,
} from "../recorder/memory/memory-shares.ts"
import { defaultSharing } from "../recorder/watchers/placement.ts"
import { watchedKinds } from "../recorder/watchers/pod-stream.ts"
import type { ManifestSettings } from "./manifest/settings.ts"

/** µs of CPU time per change, the whole process. */
const microsecondsPerChange = 10.3
/** CPU for the first lists: 100,000 Pods take 8.6 s of CPU time, which is 43 s at this share of a core. */
const listingMillicores = 200

/**
 * What a node has to have free at most: 2 GiB hold 30 million events, and the default size of 10 GiB would keep the pod off every node with a
 * small disk, although it may never be used.
 */
const largestStorageRequest = 2 * 2 ** 30

/** The request for an emptyDir of that size. */
const storageRequest = (size: string): string =>
  (quantityOf(size) ?? 0) > largestStorageRequest ? `${largestStorageRequest / 2 ** 30}Gi` : size

interface PodResources {
  readonly requests: { readonly cpu: string; readonly memory: string; readonly "ephemeral-storage"?: string }
  /** No CPU limit: the API server closes a watch whose reader is throttled for about 100 ms. */
  readonly limits: { readonly memory: string }
  /** Lines that explain how the numbers are computed. */
  readonly formula: ReadonlyArray<string>
}

/** Kinds that a recorder of every kind is made for: those of Kubernetes, and a hundred of custom resources. */
const everyKindCount = 150

export const podResources = ({
  kinds: tracked,
  isEveryKind,
  expectedObjects,
  expectedChangesPerSecond,
  volume,
}: Pick<
  ManifestSettings,
  "kinds" | "isEveryKind" | "expectedObjects" | "expectedChangesPerSecond" | "volume"
>): PodResources => {
  const { threeKinds, furtherKind, sharedKind, thousandObjects } = measuredMemory
  const named = watchedKinds(tracked).kinds.length
  const kinds = isEveryKind ? Math.max(named, everyKindCount) : named
  const usual = usualMegabytes(kinds, expectedObjects)
  const worst = worstMegabytes(kinds, expectedObjects)
  const changes = (expectedChangesPerSecond * microsecondsPerChange) / 1000
  const memory = mebibytes(usual)
  const cpu = Math.ceil((listingMillicores + changes) / 10) * 10
  return {
    requests: { cpu: `${cpu}m`, memory, ...(!volume.isClaim && { "ephemeral-storage": storageRequest(volume.size) }) },
    limits: { memory: mebibytes(worst) },
    formula: [
      kinds <= defaultSharing.aloneUpTo
        ? `memory in MB: ${threeKinds} for ${included.kinds} kinds under load + ${furtherKind} per further kind (${kinds} are watched)`
        : `memory in MB: ${threeKinds} for ${included.kinds} kinds under load + ${furtherKind} per further worker (at most ${watcherWorkers(kinds)} for ${kinds} kinds) + ${sharedKind} per kind beyond ${defaultSharing.aloneUpTo}`,
      `  + ${thousandObjects} per 1,000 objects beyond ${included.objects} (${expectedObjects} are expected) = ${Math.ceil(usual)}; the limit`,
      `  adds ${Math.ceil(mailboxMegabytes(kinds))} for mailboxes while the disk is full, ${Math.ceil(exportMegabytes(expectedObjects))} for an export`,
      `  and ${measuredMemory.reader} for queries of the recording.`,
      `cpu: ${listingMillicores}m for the first lists + ${microsecondsPerChange} µs for each of ${expectedChangesPerSecond} changes per second. No limit: the API server`,
      "  closes watches whose reader is throttled.",
      ...(volume.isClaim
        ? []
        : [
            "ephemeral-storage: the emptyDir, at most 2Gi, so that small nodes fit. A full node first evicts pods that exceed",
            "  their requests: raise it for a recording that will be larger.",
          ]),
    ],
  }
}

/** Megabytes rounded up to 16 MiB. */
const mebibytes = (megabytes: number): string => `${Math.ceil((megabytes * 1e6) / 2 ** 24) * 16}Mi`
