/**
 * Plays recorded watches as an API server: the recorded lines, byte for byte and bookmarks included, in the recorded
 * rhythm, to clients that list and watch as they would a cluster.
 *
 * All kinds share one time line: its zero is the earliest line of all files. Lines that nobody watches pass unseen, but
 * who asks for the state later gets them too. After the last line the streams stay open. Faults work as in the sandbox.
 */

import type { RequestLog } from "../apiserver/request-log.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { formatGvk } from "../kube/gvk.ts"
import { systemClock } from "../runtime/clock.ts"
import { RecordingError } from "./errors.ts"
import type { Faults } from "./faults/faults.ts"
import { type FaultyServer, type FaultyServerOptions, listenWithFaults } from "./faults/faulty-server.ts"
import { type RecordedKind, type RecordedLine, readRecording } from "./recording.ts"
import { RecordingBackend } from "./recording-backend.ts"
import { type DueAction, Timeline } from "./timeline.ts"

export interface RecordingPlayerOptions extends FaultyServerOptions {
  /** Where the `.watch` files lie. */
  readonly directory: string
  /** How many recorded seconds pass in one. Default 1; Infinity plays everything at once. */
  readonly speed?: number
  /**
   * When time begins to run: with the first watch of any kind (default), so that a client that takes a while to start
   * meets the recorded rhythm, or only when {@link RecordingPlayer.begin} is called.
   */
  readonly begin?: "first-watch" | "manual"
}

/** A line that has been given to at least one watcher. Identifiers are empty where the line has none (bookmarks). */
export interface PlayedLine {
  /** `apps/v1.Deployment` */
  readonly gvk: string
  /** `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK`, … */
  readonly type: string
  readonly uid: string
  readonly resourceVersion: string
  readonly namespace: string
  readonly name: string
  /** When the recording received it: µs since the Unix epoch. */
  readonly time: number
}

export class RecordingPlayer {
  /** Resolves when the last line has been played; never if time does not begin. */
  readonly finished: Promise<void>
  /** In the order of delivery, each line once however many watched it. */
  readonly played: ReadonlyArray<PlayedLine>
  /** The kinds found, as `apps/v1.Deployment`. */
  readonly kinds: ReadonlyArray<string>
  /** ms that playing takes at this speed. */
  readonly duration: number
  readonly faults: Faults
  readonly #server: FaultyServer["server"]
  readonly #timeline: Timeline

  private constructor(
    { server, faults }: FaultyServer,
    timeline: Timeline,
    kinds: ReadonlyArray<RecordedKind>,
    played: ReadonlyArray<PlayedLine>,
  ) {
    this.#server = server
    this.faults = faults
    this.#timeline = timeline
    this.finished = timeline.finished
    this.duration = timeline.duration
    this.kinds = kinds.map(({ resource }) => formatGvk(resource.gvk))
    this.played = played
  }

  /** Rejects with {@link RecordingError} when the directory holds no recording that can be played. */
  static async start(options: RecordingPlayerOptions): Promise<RecordingPlayer> {
    const { directory, speed = 1, begin = "first-watch", clock = systemClock } = options
    if (!(speed > 0)) throw new RecordingError({ file: directory, line: 0, problem: `cannot be played at ${speed} x` })
    const kinds = await readRecording(directory)
    const played: PlayedLine[] = []
    const counted = new Set<RecordedLine>()
    const backend: RecordingBackend = new RecordingBackend(
      kinds,
      (kind, line) => {
        if (counted.has(line)) return
        counted.add(line)
        played.push(describe(kind, line))
      },
      () => begin === "first-watch" && timeline.begin(),
    )
    const timeline = new Timeline(
      dueLines(kinds, speed, (kind) => backend.play(kind.resource)),
      clock,
    )
    return new RecordingPlayer(await listenWithFaults(backend, options), timeline, kinds, played)
  }

  /** `http://127.0.0.1:port`, without a trailing slash. */
  get url(): string {
    return this.#server.url
  }

  get port(): number {
    return this.#server.port
  }

  /** What our own client needs to connect. */
  get endpoint(): ApiEndpoint {
    return this.#server.endpoint
  }

  get requests(): RequestLog {
    return this.#server.requests
  }

  /** Lets time run, if it does not already. */
  begin(): void {
    this.#timeline.begin()
  }

  async close(): Promise<void> {
    this.#timeline.stop()
    this.faults.close()
    await this.#server.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** The lines of all kinds by time; lines of one kind keep their order, whatever their times say. */
const dueLines = (
  kinds: ReadonlyArray<RecordedKind>,
  speed: number,
  play: (kind: RecordedKind) => void,
): ReadonlyArray<DueAction> => {
  const first = Math.min(...kinds.map(({ lines }) => lines[0]?.time ?? Number.POSITIVE_INFINITY))
  const all = kinds.flatMap((kind) => {
    let latest = first
    return kind.lines.map(({ time }) => {
      latest = Math.max(latest, time)
      return { due: (latest - first) / 1000 / speed, run: () => play(kind) }
    })
  })
  return all.sort((left, right) => left.due - right.due)
}

const describe = ({ resource }: RecordedKind, { record, type, revision, time }: RecordedLine): PlayedLine => ({
  gvk: formatGvk(resource.gvk),
  type,
  uid: record?.change.uid ?? "",
  resourceVersion: String(revision),
  namespace: record?.change.namespace ?? "",
  name: record?.change.name ?? "",
  time,
})
