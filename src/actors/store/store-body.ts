/**
 * The store: the only writer of the recording. It takes frames, commits them in batches, acknowledges what is committed, sends starting
 * watchers the stored state of their kinds, and sends the owner-resolver the owners that were named, all as frames.
 *
 * Acknowledged means committed: at most 30 ms after a frame arrived, or when a block of 1 MiB is full. When the disk
 * fails (full, gone), nothing is acknowledged and nothing is dropped: senders keep their frames, back-pressure stops
 * reading, and the commit is retried every second; so is the opening of a directory with a recording. After an I/O
 * error the database is checked before it is used again; if it does not contain what was committed, this life ends, the
 * next one continues with what there is, or sets a damaged recording aside, and senders start again. A watcher that
 * starts meanwhile waits too, and so does a restarted store: only the first start in a directory without a recording
 * reports such a failure to its caller.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import {
  ArchiveIoError,
  type ArchiveWriter,
  DATABASE_FILE,
  DirectoryNotWritableError,
  DiskFullError,
  discoveryKey,
  exposureOf,
  FIRST_LISTS_KEY,
  lendReserve,
  openOrBegin,
  PinRefused,
  RECORDER_KEY,
  removesAnything,
  TENURE_KEY,
  thisProcess,
  withDiscovered,
} from "../../archive/index.ts"
import { messageOf } from "../../message-of.ts"
import type { ActorBody } from "../../runtime/index.ts"
import { policyOf } from "./retention-turns.ts"
import { type StoreConfig, type StoreControl, type StoreReport, StoreUnavailable } from "./store-interface.ts"
import { commitRetryMs, type StoreContext, StoreWriter } from "./store-writer.ts"

export const storeBody: ActorBody<StoreConfig, StoreControl, StoreReport> = (context) =>
  Effect.gen(function* () {
    const archive = yield* Effect.acquireRelease(
      context.incarnation === 1 && !hasRecording(context) ? openArchive(context) : openPatiently(context),
      (open) => Effect.sync(() => open.close()),
      // A store that waits for room can be stopped.
      { interruptible: true },
    )
    const exposure = context.incarnation === 1 ? exposureOf(context.config.directory) : undefined
    if (exposure !== undefined) context.report({ type: "exposed", message: exposure })
    const hadLists = archive.hasLists
    const writer = new StoreWriter(context, archive)
    yield* Effect.acquireRelease(
      Effect.sync(() => writer.start()),
      () => Effect.sync(() => writer.stop()),
    )
    const attempt = <A>(action: () => A): Effect.Effect<A, StoreUnavailable> =>
      Effect.try({ try: action, catch: (cause) => new StoreUnavailable({ message: messageOf(cause) }) })
    return {
      nextIncarnation: (sender) => attempt(() => writer.nextIncarnation(sender)),
      cut: () =>
        attempt(() => {
          writer.commitOrThrow()
          return archive.cut()
        }),
      recordGap: ({ gvk, gap }) => attempt(() => writer.recordGap(gvk, gap)),
      clusterUid: () => Effect.sync(() => archive.metadata.get("clusterUid") ?? ""),
      recorderState: () => Effect.sync(() => archive.metadata.get(RECORDER_KEY) ?? ""),
      setRecorderState: (state) => attempt(() => archive.metadata.set(RECORDER_KEY, state)),
      tenure: () => Effect.sync(() => archive.metadata.get(TENURE_KEY) ?? ""),
      // An intent that a power failure takes back would make a segment of this recording another recorder's.
      keepTenure: (kept) =>
        Effect.andThen(
          attempt(() => writer.keepTenure(kept)),
          Effect.tryPromise({
            try: () => archive.sync(),
            catch: (cause) => new StoreUnavailable({ message: messageOf(cause) }),
          }),
        ),
      learnKind: (kind) =>
        attempt(() => archive.metadata.set(discoveryKey, withDiscovered(archive.metadata.get(discoveryKey), kind))),
      firstLists: (atMicros) =>
        attempt(() => {
          if (!hadLists && archive.metadata.get(FIRST_LISTS_KEY) === undefined)
            archive.metadata.set(FIRST_LISTS_KEY, String(atMicros))
        }),
      addAuthors: ({ writes, range }) => attempt(() => writer.addAuthors(writes, range)),
      pin: (request) =>
        Effect.try({
          try: () => archive.pins.add(request),
          catch: (cause) => (cause instanceof PinRefused ? cause : new StoreUnavailable({ message: messageOf(cause) })),
        }),
      unpin: (id) => attempt(() => archive.pins.remove(id)),
      pinExported: ({ id, atMicros }) => attempt(() => archive.pins.noteExported(id, atMicros)),
      setClusterUid: (uid) => attempt(() => archive.metadata.set("clusterUid", uid)),
      expect: (expected) => Effect.sync(() => writer.expect(expected)),
      setRetention: (settings) => Effect.sync(() => writer.setRetention(settings)),
      kindState: (gvk) =>
        attempt(() => {
          writer.commitOrThrow()
          const { completeThrough, completeThroughTime, recordedSince, namespaces } = archive.kindState(gvk)
          return {
            resumeVersion: completeThrough,
            completeTime: completeThroughTime,
            recordedSince,
            namespaces: namespaces.map((each) => ({
              namespace: each.namespace,
              resumeVersion: each.completeThrough,
              recordedSince: each.recordedSince,
            })),
          }
        }),
      asksForOwners: () => Effect.sync(() => writer.asksForOwners),
      statistics: () => Effect.sync(() => writer.statistics()),
      takeLongestCommit: () => Effect.sync(() => writer.takeLongestCommit()),
    }
  })

const openArchive = ({ config, report }: StoreContext): Effect.Effect<ArchiveWriter, unknown> =>
  Effect.try({
    try: () => {
      const { directory, fsync, recordedKinds, lease } = config
      const { writer, setAside, lost } = openOrBegin(directory, { fsync, recordedKinds, holder: thisProcess(lease) })
      if (setAside !== undefined) report({ type: "set-aside", ...setAside })
      if (lost !== undefined) report({ type: "distrusted", message: lost })
      return writer
    },
    catch: (cause) => cause,
  })

/**
 * A recording has been made in the directory before: a lack of room or of a disk passes, and is reported until it does. What is recorded can
 * be read meanwhile.
 */
const openPatiently = (context: StoreContext): Effect.Effect<ArchiveWriter, unknown> =>
  openArchive(context).pipe(
    Effect.catchIf(isRetryable, (cause) => {
      if (cause instanceof DiskFullError && hasLent(context)) return Effect.suspend(() => openPatiently(context))
      context.report({ type: "commit-failed", message: messageOf(cause) })
      return Effect.andThen(
        pause(context),
        Effect.suspend(() => openPatiently(context)),
      )
    }),
  )

/** Retention can make room once the recording is open, which needs some itself. */
const hasLent = ({ config: { directory, retention } }: StoreContext): boolean =>
  retention !== undefined && removesAnything(policyOf(retention)) && lendReserve(directory)

const hasRecording = ({ config }: StoreContext): boolean => existsSync(join(config.directory, DATABASE_FILE))

const isRetryable = (cause: unknown): boolean =>
  cause instanceof DiskFullError ||
  cause instanceof ArchiveIoError ||
  (cause instanceof DirectoryNotWritableError && cause.code === "EROFS")

const pause = ({ clock }: StoreContext): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = clock.after(commitRetryMs, () => resume(Effect.void))
    return Effect.sync(() => timer.cancel())
  })
