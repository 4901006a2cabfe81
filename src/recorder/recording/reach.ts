/**
 * Up to where the recording reaches now, from the best source there is: a commit; what the store, which cannot write, has committed; or what the
 * files say, if the store does not respond: it waits for its directory, is being restarted, or hangs.
 */
import * as Effect from "effect/Effect"
import type { storeDefinition } from "../../actors/store/definition.ts"
import type { Clock } from "../../clock.ts"
import type { Supervisor } from "../../runtime/supervisor.ts"
import type { ReaderService } from "../export/reader-service.ts"
import type { Reach } from "../export/recording.ts"

/** ms that a store may take to answer whether it can be asked at all. */
const silentStoreMs = 1000

interface ReachSources {
  readonly store: Pick<Supervisor<never, typeof storeDefinition.control, never>, "call">
  readonly reader: ReaderService
  readonly clock: Clock
  /** Commits what was received; returns the sequence number up to which everything is committed. */
  readonly cut: () => Effect.Effect<number, { readonly message: string }>
}

export const currentReach = ({ store, reader, clock, cut }: ReachSources) => {
  /** What was received since waits in memory. */
  const committed = Effect.suspend(() => {
    const asked = clock.wallMicros()
    return store
      .call("statistics", undefined, silentStoreMs)
      .pipe(
        Effect.map(({ sequence, lagMs }): Reach => ({ cut: sequence, knownUntil: Math.floor(asked - lagMs * 1000) })),
      )
  })
  const committedInFiles = Effect.gen(function* () {
    const { cut: sequence } = yield* reader.ask("coverage", { fromTime: 0, untilTime: 0 })
    const rows = yield* reader.ask("recordedSince", undefined)
    const knownUntil = Math.max(0, ...rows.map(({ completeTime }) => completeTime + 1))
    return { cut: sequence, knownUntil } satisfies Reach
  })
  return cut().pipe(
    Effect.map((sequence): Reach => ({ cut: sequence, knownUntil: undefined })),
    Effect.catch(() => committed),
    Effect.catch(() => committedInFiles),
  )
}
