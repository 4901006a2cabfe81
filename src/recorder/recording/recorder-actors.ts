/**
 * The actors of a recorder and their connections: one store, one exporter, a watcher per kind, possibly one for pod lifecycles, and an
 * owner-resolver and a reader on demand.
 *
 * One scope owns everything, and each part opens in it and owns its state (docs/decisions/0075-the-parts-of-a-recording.md). Closing the scope stops
 * the watchers first, then drains and closes the store. Only a failure of the store ends the recording (`ended`); a kind whose watcher keeps
 * crashing is stopped with a gap, and the others continue. An exporter or a reader that keeps crashing is restarted for ever, because only its own
 * clients are affected.
 */
import * as Effect from "effect/Effect"
import type { RetentionSettings } from "../../actors/index.ts"
import { CredentialRefresh } from "../../kube/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import type { ArchiveFigures, ArchiveStatus, Reach } from "../export/recording.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { KindStatus } from "../status/kind-status.ts"
import { openArchiving } from "./archiving.ts"
import { openOwners } from "./owner-resolution.ts"
import { readingActors } from "./reading-actors.ts"
import { openStore, type UnlistedLife } from "./recorded-store.ts"
import { openBase, type RecorderActorsOptions } from "./recording-base.ts"
import { openWatchers, type Reconfiguration } from "./watchers.ts"

export type { RecorderNotice } from "../notices/recorder-notice.ts"
export type { RecorderClose } from "./recording-base.ts"

/** The running actors. */
export type RecorderActors = Effect.Success<ReturnType<typeof startRecorderActors>>

/**
 * Starts all actors; returns once the store is open, or waits for room or for a writable disk over an existing recording. Watchers continue
 * starting; see `statuses`.
 */
export const startRecorderActors = (options: RecorderActorsOptions) =>
  Effect.gen(function* () {
    const base = yield* openBase(options)
    const { kinds, senders, system } = base
    const archiving = yield* openArchiving(base)
    const store = yield* openStore(base)
    if (archiving !== undefined) yield* archiving.run(store)
    const { exports, reader } = yield* readingActors(system, { ...base, config: { directory: base.directory } })
    const credentials = new CredentialRefresh(base.endpoints, {
      had: (endpoint) => senders.handOver(endpoint),
      trouble: (trouble) => base.notify({ type: "credentials", trouble }),
    })
    const owners = yield* openOwners(base, store, credentials)
    const watchers = yield* openWatchers(base, store, credentials, () => owners.kindsChanged())
    return {
      statuses: store.statuses,
      /**
       * The kinds recorded now. Exports must use this list: it changes together with `statuses`, so that a kind that was just added is
       * never exported without its state.
       */
      get kinds(): ReadonlyArray<TrackedKind> {
        return kinds.current
      },
      /** Kinds that were recorded until the server had them no longer; exports contain them. */
      get former(): ReadonlyArray<TrackedKind> {
        return kinds.former
      },
      /** The current watchers, in the order of the configuration. */
      get watchers() {
        return watchers.all
      },
      /** The kind whose watcher follows pod lifecycles; `undefined` if no kind tracks them. */
      get podStream() {
        return kinds.plan.podStream
      },
      /** As `Watchers.change`. */
      reconfigure: (wanted: ReadonlyArray<TrackedKind>, ended?: ReadonlySet<string>): Promise<Reconfiguration> =>
        watchers.change(wanted, ended),
      /** Has a kind looked for at once that is not installed. */
      retry: (gvk: string): void => watchers.retry(gvk),
      /** A kind was installed and is gone. If its objects were not listed meanwhile, that is a gap. */
      noteGone: (life: UnlistedLife): void => store.noteGone(life),
      /** How much is kept from now on. */
      setRetention: (settings: RetentionSettings): void => store.setRetention(settings),
      /** Stores which cluster is recorded as soon as possible, unless a watcher has reported it: its answer is more recent. */
      suggestClusterUid: (uid: string): void => store.suggestClusterUid(uid),
      store: store.actor,
      owners,
      system,
      exports,
      /** Runs queries about the recording. */
      reader,
      firstLists: (given: ReadonlyArray<KindStatus>) => store.firstLists(reader, given),
      isOver: false,
      reach: (): Effect.Effect<Reach, ExportRefusal> => store.reach(reader),
      /** How far the recording is archived; `undefined`: it is not. */
      get archive(): ArchiveStatus | undefined {
        return archiving?.status
      },
      archiveFigures: (): ArchiveFigures | undefined => archiving?.figures,
      /** Fails when the recording cannot continue. */
      ended: Effect.raceFirst(store.ended, archiving?.ended ?? Effect.never),
      /** How the recording was closed; `undefined` until the scope is closed. */
      closed: () => base.end.closed,
      /** Passes the current credentials to every watcher, if they are new. Returns whether they could be obtained. */
      renewCredentials: () => credentials.renew(),
      cut: () => store.cut(),
      /** The store as seen from this thread. */
      storeWatch: store.watch,
    }
  })
