/**
 * A recording in a directory, read without its recorder: exports, forecasts and coverage of it come from the same code as a recorder's, and
 * over the same HTTP interface, through streams in memory instead of a port.
 *
 * Guarantees: the recording is not changed and nothing is locked, so it may be a copy, belong to someone else or be on a read-only file
 * system; a recorder may be writing to it or not. All that is written are leases (src/archive/leases/lease.ts), where that is possible. What is known ends at {@link RecordingFacts.lastTime}: beyond that, a window is
 * incomplete. If a recorder starts in the directory while an export runs, that export fails.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { type Duplex, duplexPair } from "node:stream"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { maximumNamed, openOwnershipGraph, type Settled } from "../actors/index.ts"
import {
  isBeingWritten,
  PinRefused,
  RecordingDisturbedError,
  type RecordingFacts,
  readRecordingFacts,
} from "../archive/index.ts"
import { openTarget } from "../blob/index.ts"
import { systemClock } from "../clock.ts"
import { parseGvk } from "../kube/offline.ts"
import { ActorSystem, defaultRestartPolicy, memoryBound, workerThread } from "../runtime/index.ts"
import { podLivesKind } from "../trace/index.ts"
import { anonymousAccess } from "./access/access.ts"
import { fixedTemplatePaths } from "./configuration/known-kinds.ts"
import { type RecorderConfiguration, recordedWhole, type TrackedKind } from "./configuration/tracked-kind.ts"
import { askCoverage } from "./export/coverage.ts"
import { forecastExport } from "./export/forecast.ts"
import { ExportPlaces, PagePlaces } from "./export/places.ts"
import type { Recording } from "./export/recording.ts"
import type { ExportService } from "./export/service.ts"
import { type ExportContext, startExport } from "./export/start.ts"
import { type HttpApiSources, makeApiServer, serveHttpApi } from "./http/http-api.ts"
import { shownTo, startQuery } from "./http/past.ts"
import { Subscriptions } from "./http/subscriptions.ts"
import { memoryLimitsOf } from "./memory/memory-shares.ts"
import { defaultAlertMargins } from "./pins/alert-pin.ts"
import { PinnedRecordings, pinDirectory } from "./pins/pinned-recordings.ts"
import { type PinActors, RecorderPins } from "./pins/recorder-pins.ts"
import { readingActors } from "./recording/reading-actors.ts"
import { workerEntry } from "./recording/worker-entries.ts"
import { type KindStatus, KindStatuses } from "./status/kind-status.ts"
import { decodeRecorderState, type RecorderState, recorderStateKey } from "./status/recorder-state.ts"

export interface OfflineRecording {
  readonly facts: RecordingFacts
  /** Begins an export, as a request for it does. */
  readonly startExport: HttpApiSources["startExport"]
  /** Has the HTTP interface of the recording answer a request that another server received. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  /** A connection to the HTTP interface of the recording, the client's side. */
  readonly connect: () => Duplex
  /** How the next export that ends has ended, in words. */
  readonly outcome: () => Promise<string>
  /** Ends what runs. */
  readonly close: () => Promise<void>
}

/** No limit: an operator's limits protect a recorder. In ms, the longest that a timer can wait. */
const unlimited = { milliseconds: 2 ** 31 - 1, bytes: Number.POSITIVE_INFINITY }

/** Questions and exports at once: there is one client, and a page asks several questions at a time. */
const placesForOne = 64

/** What a recorder that shows a copy to its own clients has for them. */
export type OwnClients = Pick<
  HttpApiSources,
  "access" | "rejected" | "places" | "placesOfPages" | "limits" | "audit" | "barred"
>

/**
 * Starts no thread until something is asked. Rejects with an ArchiveError. `onTrouble`: parts of an upload may remain in a store. `clients`: default, one who may see and do everything.
 */
export const openOfflineRecording = async (
  directory: string,
  onTrouble: (message: string) => void,
  clients?: OwnClients,
): Promise<OfflineRecording> => {
  const facts = readRecordingFacts(directory)
  const scope = await Effect.runPromise(Scope.make())
  let waiting: ((outcome: string) => void)[] = []
  const onOutcome = (outcome: string): void => {
    for (const resolve of waiting) resolve(outcome)
    waiting = []
  }
  const serving = serve(directory, facts, { onTrouble, onOutcome, clients }).pipe(
    Effect.provideService(Scope.Scope, scope),
  )
  const served = await Effect.runPromise(serving)
  const outcome = (): Promise<string> => new Promise((resolve) => waiting.push(resolve))
  return { facts, ...served, outcome, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

interface Listeners {
  readonly onTrouble: (message: string) => void
  readonly onOutcome: (outcome: string) => void
  readonly clients: OwnClients | undefined
}

const serve = (directory: string, facts: RecordingFacts, { onTrouble, onOutcome, clients }: Listeners) =>
  Effect.gen(function* () {
    const state = stateOf(facts)
    const { kinds } = state
    const statuses = KindStatuses.of(state.statuses, state.appeared)
    const configuration: RecorderConfiguration = { kinds: [...kinds, ...(state.former ?? [])], source: "" }
    const memory = memoryBound()
    const system = yield* Effect.acquireRelease(
      Effect.sync(() => new ActorSystem({ clock: systemClock })),
      (stopping) => Effect.promise(() => stopping.stop()),
    )
    const { exports, reader } = yield* readingActors(system, {
      config: { directory, spoolDirectory: tmpdir() },
      worker: (role) => workerThread(workerEntry(role), () => memoryLimitsOf(memory, 0)[role]),
      restart: defaultRestartPolicy,
      told: () => () => undefined,
      clock: systemClock,
    })
    const recording: Recording = {
      statuses,
      reader,
      exports: { start: unlessDisturbed(exports, directory, facts) },
      owners: { settle: () => Effect.sync(() => unknownOwners(directory, recordedWhole(kinds))) },
      reach: () => Effect.succeed({ cut: facts.cut, knownUntil: facts.lastTime + 1 }),
      // Waiting does not help here; the kind is incomplete.
      firstLists: () => Effect.succeed([]),
      isOver: true,
    }
    const context: ExportContext = { recording, configuration, nowMicros: facts.lastTime }
    const beginExport: HttpApiSources["startExport"] = (request, sink) => startExport(context, request, sink)
    const pins = new RecorderPins({
      ...{ actors: pinsToRead(recording), clock: systemClock, margins: defaultAlertMargins },
      log: { info: () => undefined, warn: onTrouble },
    })
    const copies = yield* Effect.acquireRelease(
      Effect.sync(
        () => new PinnedRecordings((id) => openOfflineRecording(pinDirectory(directory, id), onTrouble), systemClock),
      ),
      (opened) => Effect.promise(() => opened.close()),
    )
    const api = yield* makeApiServer(systemClock)
    yield* serveHttpApi(api, {
      notReady: () => undefined,
      degraded: () => undefined,
      verboseReadiness: () => statuses.verboseReadiness(),
      metrics: Effect.succeed(""),
      access: anonymousAccess,
      rejected: () => undefined,
      coverage: (window) => askCoverage(recording, window, facts.lastTime),
      shownTo: (answerReader, question) => shownTo(recording, answerReader, question),
      startQuery: (question, answerReader) => startQuery(recording, question, answerReader, facts.lastTime + 1),
      nowMicros: () => facts.lastTime,
      pinned: { pins, copies, nowMicros: () => facts.lastTime },
      forecast: (request) => forecastExport(context, request),
      startExport: beginExport,
      places: new ExportPlaces(systemClock, placesForOne, placesForOne),
      placesOfPages: new PagePlaces(),
      subscriptions: new Subscriptions(),
      limits: unlimited,
      audit: ({ outcome }) => onOutcome(outcome),
      barred: () => undefined,
      openTarget: (address, contentType) => openTarget(address, { contentType }),
      uploadLeft: (error) => onTrouble(`an upload was aborted, and parts of it may remain: ${error.message}`),
      ...clients,
    })
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      api.server.emit("request", request, response)
    }
    const connect = (): Duplex => {
      const [client, server] = duplexPair()
      // A pair of streams does not pass this on, as the two ends of a socket do. Without it, an answer that the client no longer wants would keep its query running, and the
      // server could not end.
      client.once("close", () => server.destroy())
      copyWrites(server)
      api.server.emit("connection", server)
      return client
    }
    return { connect, answer, startExport: beginExport }
  })

/** The pins of a recording without a recorder are listed. What changes them takes the recording's directory (src/archive/upkeep/pinned-recording.ts). */
const pinsToRead = ({ reader }: Pick<Recording, "reader">): PinActors => {
  const problem =
    "no recorder holds this recording; reel pin --data-dir DIRECTORY and reel pins rm --data-dir DIRECTORY change its pins"
  const refused = () => Effect.fail(new PinRefused({ problem, fault: "request" }))
  return { list: () => reader.ask("pins", undefined), add: refused, remove: refused, noteExported: refused }
}

/**
 * Has a stream of a pair copy what is written to it. A pair hands the other end the very same memory and reports it as taken at once, while an export reuses the memory of a
 * piece as soon as it is taken: a client that reads slowly found other bytes in it, and its checksum did not match.
 */
const copyWrites = (stream: Duplex): void => {
  const write = stream._write.bind(stream)
  stream._write = (piece, encoding, done) => write(Buffer.from(piece), encoding, done)
}

/** Of a recording that lacks its recorder's state, because an earlier version made it: every kind, with the settings that it has by default. */
const stateOf = ({ metadata, kinds, lastTime }: RecordingFacts): RecorderState => {
  const stored = decodeRecorderState(metadata.get(recorderStateKey) ?? "")
  if (stored !== undefined) return stored
  const hasLives = kinds.includes(podLivesKind)
  const given = kinds.filter((gvk) => gvk !== podLivesKind).flatMap((gvk) => defaultKind(gvk, hasLives) ?? [])
  const statuses = given.map(
    ({ gvkText }): KindStatus => ({
      gvk: gvkText,
      state: "watching",
      detail: "",
      namespaces: [],
      since: lastTime,
      isRefused: false,
    }),
  )
  return { kinds: given, statuses, appeared: [] }
}

const defaultKind = (gvkText: string, hasLives: boolean): TrackedKind | undefined => {
  const gvk = parseGvk(gvkText)
  if (gvk === undefined) return undefined
  const podSpecTemplatePaths = fixedTemplatePaths(gvk) ?? []
  return {
    gvk,
    gvkText,
    podSpecTemplatePaths,
    trackLifecycle: hasLives && podSpecTemplatePaths.length > 0,
    skipOwned: false,
    keepManagedFields: true,
    detect: "all",
    ignore: [],
  }
}

/** A recorder that started meanwhile may have changed pages under the reader, so what was read proves nothing. */
const unlessDisturbed =
  (exports: ExportService, directory: string, { isWritten }: RecordingFacts): Recording["exports"]["start"] =>
  (job, reader) =>
    exports.start(job, {
      piece: (data) => reader.piece(data),
      end: (error, unchanged) =>
        !isWritten && isBeingWritten(directory)
          ? reader.end(new RecordingDisturbedError({ directory }).message)
          : reader.end(error, unchanged),
    })

/** The owners that the recorder had not looked up when it ended. Nothing looks them up here. */
const unknownOwners = (directory: string, recordedKinds: ReadonlyArray<string>): Settled => {
  const graph = openOwnershipGraph(directory, { isLast: true })
  try {
    let unknown = 0
    const first: Settled["first"][number][] = []
    for (const owner of graph.open()) {
      if (recordedKinds.includes(owner.gvk) || graph.isRecorded(owner)) continue
      unknown++
      const { gvk, namespace, name } = owner
      if (first.length < maximumNamed) first.push({ gvk, namespace, name })
    }
    return { unknown, first }
  } finally {
    graph.close()
  }
}
