/** What the actors of a recorder are started with. */

import type { RetentionSettings } from "../../actors/store/definition.ts"
import type { KindDefinition } from "../../actors/watcher/definitions.ts"
import type { Clock } from "../../clock.ts"
import type { EndpointSource } from "../../kube/endpoint.ts"
import type { WatchPolicy } from "../../kube/watch/protocol/policy.ts"
import type { MemoryBound } from "../../runtime/container-memory.ts"
import type { RestartPolicy } from "../../runtime/supervisor.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import type { WorkerRole } from "../memory/memory-shares.ts"
import type { RecorderNotice } from "../notices/recorder-notice.ts"
import type { ListCompression } from "../watchers/list-manners.ts"
import type { SharingPolicy } from "../watchers/placement.ts"

export interface RecorderActorsOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  readonly directory: string
  readonly fsync: "interval" | "always"
  /** NAMESPACE/NAME of the Lease that this recorder holds. Default: none. */
  readonly lease?: string
  /** How much is kept. Default: everything. */
  readonly retention?: RetentionSettings
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly notify: (notice: RecorderNotice) => void
  /** Look up owners that are not recorded. Default true. */
  readonly looksUpOwners?: boolean
  /** Report each recorded event, for the debug log. Default off. */
  readonly reportEvents?: boolean
  /** File with the key for redacted values. Default: one in the directory, which is made if a kind has redacted values. */
  readonly redactKeyFile?: string
  readonly policy?: WatchPolicy
  /** Default `auto`. */
  readonly listCompression?: ListCompression
  /** Which watchers share a worker. Default `defaultSharing`. */
  readonly sharing?: SharingPolicy
  /** Called with each definition of a kind that is seen to change. Default: nothing is done. */
  readonly onDefinition?: (definition: KindDefinition) => void
  /** µs since the Unix epoch at which a kind was last known not to be installed. Default: its first list begins its recording. */
  readonly unseenSince?: (gvk: string) => number | undefined
  /** How often actors may crash. Default: 5 times in 10 min. */
  readonly restart?: RestartPolicy
  readonly clock?: Clock
  /** Memory of all threads together. Default: the limit of the container, or of the machine. */
  readonly memory?: MemoryBound
  /** File of a role's worker code. Default: the bundles of this package. */
  readonly entry?: (role: WorkerRole) => URL
}
