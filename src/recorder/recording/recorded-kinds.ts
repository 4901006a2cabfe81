/** The kinds that a recorder records, and what its recording has to say of them to later readers. */
import { type ExpectedKinds, watcherName } from "../../actors/index.ts"
import type { Clock } from "../../clock.ts"
import { recordedWhole, type TrackedKind, withoutKinds } from "../configuration/tracked-kind.ts"
import type { KindStatuses } from "../status/kind-status.ts"
import {
  encodeRecorderState,
  type RecorderState,
  statusRecordedBefore,
  statusRecordedNow,
} from "../status/recorder-state.ts"
import { watchedKinds } from "../watchers/pod-stream.ts"

/** The kinds to watch. */
export interface WatchPlan {
  /** By kind, in the order of the configuration. */
  readonly kinds: ReadonlyMap<string, TrackedKind>
  /** The kind whose watcher follows pod lifecycles; `undefined` if none does. */
  readonly podStream: string | undefined
  /** The same, as the store expects it. */
  readonly expected: ExpectedKinds
}

export const watchPlan = (configured: ReadonlyArray<TrackedKind>): WatchPlan => {
  const { kinds, podStream } = watchedKinds(configured)
  const watchers = kinds.map(({ gvkText }) => ({
    name: watcherName(gvkText),
    gvk: gvkText,
    tracksPods: gvkText === podStream,
  }))
  return {
    kinds: new Map(kinds.map((kind) => [kind.gvkText, kind])),
    podStream,
    expected: { watchers, recordedKinds: recordedWhole(configured) },
  }
}

export class RecordedKinds {
  readonly #clock: Clock
  readonly #shard: string | undefined
  #current: ReadonlyArray<TrackedKind>
  #former: ReadonlyArray<TrackedKind> = []
  #plan: WatchPlan
  #statusRecorded: ReturnType<typeof statusRecordedNow>

  /** `shard`: `K/N`; default: it is not of a shard. */
  constructor(kinds: ReadonlyArray<TrackedKind>, clock: Clock, shard?: string) {
    this.#clock = clock
    this.#shard = shard
    this.#current = kinds
    this.#plan = watchPlan(kinds)
    this.#statusRecorded = statusRecordedNow(kinds, {}, clock.wallMicros())
  }

  get current(): ReadonlyArray<TrackedKind> {
    return this.#current
  }

  /** Kinds that were recorded until the server had them no longer; exports contain them. */
  get former(): ReadonlyArray<TrackedKind> {
    return this.#former
  }

  get plan(): WatchPlan {
    return this.#plan
  }

  /** Takes over what the former recorder of the directory knew. */
  recall(before: RecorderState): void {
    this.#former = withoutKinds(before.former ?? [], this.#current)
    this.#statusRecorded = statusRecordedNow(this.#current, statusRecordedBefore(before), this.#clock.wallMicros())
  }

  /** Records these kinds from now on, by their plan. `ended`: kinds that the server has no longer. */
  change(kinds: ReadonlyArray<TrackedKind>, plan: WatchPlan, ended: ReadonlySet<string>): void {
    const leaving = this.#current.filter(({ gvkText }) => ended.has(gvkText))
    this.#former = withoutKinds([...this.#former, ...leaving], kinds)
    this.#current = kinds
    this.#plan = plan
    this.#statusRecorded = statusRecordedNow(kinds, this.#statusRecorded, this.#clock.wallMicros())
  }

  /** For readers of the recording without its recorder. */
  encoded(statuses: KindStatuses): string {
    const { appeared } = statuses
    const [kinds, former, statusRecorded] = [this.#current, this.#former, this.#statusRecorded]
    const shard = this.#shard === undefined ? {} : { shard: this.#shard }
    return encodeRecorderState({ ...shard, kinds, former, statusRecorded, statuses: statuses.all(), appeared })
  }
}
