/** A recording that a test writes, its reader, and the HTTP interface in front of it, in this process: with a clock that the test moves, and real connections. */
import { readdirSync } from "node:fs"
import { Agent, get, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { onTestFinished } from "vitest"
import { readerDefinition, readerName } from "../../../src/actors/index.ts"
import { readerBody } from "../../../src/actors/reader/reader-body.ts"
import { ArchiveWriter } from "../../../src/archive/index.ts"
import { LEASES } from "../../../src/archive/leases/lease.ts"
import { systemClock } from "../../../src/clock.ts"
import { type Access, anonymousAccess } from "../../../src/recorder/access/access.ts"
import { defaultExportLimits } from "../../../src/recorder/export/limits.ts"
import { ExportPlaces, PagePlaces } from "../../../src/recorder/export/places.ts"
import { makeReaderService } from "../../../src/recorder/export/reader-service.ts"
import type { Recording } from "../../../src/recorder/export/recording.ts"
import { bindHttpApi, serveHttpApi } from "../../../src/recorder/http/http-api.ts"
import { shownTo, startQuery } from "../../../src/recorder/http/past.ts"
import { Subscriptions } from "../../../src/recorder/http/subscriptions.ts"
import { ActorSystem, localThread } from "../../../src/runtime/index.ts"
import { encodeFrame, START } from "../../archive/sample-frames.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn } from "../../runtime/until.ts"

/** The only kind. */
export const followedKind = "v1.Pod"

/** What clients get besides events, which these tests do not ask for. */
const notHere = () => Effect.fail({ status: 500, message: "not here" })

export class FollowedRecording {
  readonly directory = temporaryDirectory()
  readonly clock = new ManualClock()
  readonly subscriptions = new Subscriptions()
  /** Pieces that the HTTP interface has been given and has not used. */
  underWay = 0
  /** Those that it has used. */
  used = 0
  readonly #writer: ArchiveWriter
  readonly #serving = Effect.runSync(Scope.make())
  readonly #running = Effect.runSync(Scope.make())
  #version = 1
  url = ""
  connections: () => Promise<number> = async () => 0

  private constructor() {
    const limits = { blockBytes: 4000, retention: { stride: { blocks: 100, events: 10_000, rows: 1000 } } }
    this.#writer = ArchiveWriter.open(this.directory, { now: () => START + this.#version, limits })
    this.change(0)
  }

  /** Ends with the test. `access`: with the recording's clock. Default: anyone may see everything. */
  static async start(access: (clock: ManualClock) => Access = () => anonymousAccess): Promise<FollowedRecording> {
    const started = new FollowedRecording()
    const decides = access(started.clock)
    const run = <A>(effect: Effect.Effect<A, unknown, Scope.Scope>, scope: Scope.Closeable): Promise<A> =>
      Effect.runPromise(Effect.provideService(effect, Scope.Scope, scope))
    const system = new ActorSystem()
    const spawn = () =>
      system.spawn({
        definition: readerDefinition,
        name: readerName,
        start: localThread(readerDefinition, readerBody, systemClock),
        config: () => ({ directory: started.directory }),
        incarnation: () => 1,
        restart: {
          backOff: { initialMs: 1, maximumMs: 1, factor: 1, jitter: 0, resetAfterMs: 1 },
          ...{ maximumCrashes: 1, windowMs: 1 },
        },
      })
    const reader = await run(makeReaderService(system, spawn, new ManualClock()), started.#running)
    const recording = {
      statuses: { all: () => [] },
      reader: {
        query: reader.query,
        // The recording knows no plurals, which discovery tells a recorder.
        ask: (_: "askedKinds", asked: { readonly names: ReadonlyArray<string>; readonly withNamespaces: boolean }) => {
          const known = { gvk: followedKind, plural: "pods", namespaced: true }
          if (!asked.withNamespaces) return Effect.succeed({ named: [known], others: [] })
          return Effect.map(reader.ask("askedKinds", asked), ({ named, others }) => ({
            named: named.map((kind) => ({ ...kind, ...known })),
            others: others.map((kind) => ({ ...kind, ...known })),
          }))
        },
      },
      reach: () => Effect.succeed({ cut: 0, knownUntil: undefined }),
    } as unknown as Recording
    const bound = await run(bindHttpApi("127.0.0.1", 0, started.clock), started.#serving)
    started.url = bound.url
    started.connections = () => new Promise((resolve) => bound.server.getConnections((_, count) => resolve(count)))
    const nowMicros = (): number => START + 1_000_000
    const serving = serveHttpApi(bound, {
      ...{ notReady: () => undefined, degraded: () => undefined, verboseReadiness: () => "" },
      ...{ metrics: Effect.succeed(""), coverage: notHere, forecast: notHere, startExport: notHere },
      access: decides,
      rejected: () => undefined,
      startQuery: (question, receiver) =>
        startQuery(
          recording,
          question,
          {
            piece: async (piece) => {
              started.underWay++
              await receiver.piece(piece)
              started.underWay--
              started.used++
            },
            end: (...ending) => receiver.end(...ending),
          },
          nowMicros(),
        ),
      shownTo: (client, question) => shownTo(recording, client, question),
      nowMicros,
      places: new ExportPlaces(),
      placesOfPages: new PagePlaces(),
      subscriptions: started.subscriptions,
      limits: defaultExportLimits,
      audit: () => undefined,
      barred: () => undefined,
      openTarget: () => Effect.never,
      uploadLeft: () => undefined,
    })
    await run(serving, started.#serving)
    onTestFinished(async () => {
      decides.close()
      const stopped = started.stop()
      await started.passes(10_000)
      await stopped
      await Effect.runPromise(Scope.close(started.#running, Exit.void))
      await system.stop()
      started.#writer.close()
    })
    return started
  }

  /** Records a change whose object has that many bytes of text. */
  change(bytes: number): void {
    const version = ++this.#version
    const object = JSON.stringify({ version, text: 'a "b"\n'.repeat(Math.ceil(bytes / 6)) })
    const event = { action: "applied", number: 1, time: START + version, version, object } as const
    const newObjects = version === 2 ? [1] : []
    const frame = { gvk: followedKind, newObjects, events: [event], completeThrough: String(version) }
    this.#writer.append("watcher/sample", 1, version, encodeFrame(frame))
    this.#writer.commit()
  }

  /** Records another object, of the namespace that `nameOf` gives it. */
  add(number: number): void {
    const version = ++this.#version
    const event = { action: "applied", number, time: START + version, version, object: "{}" } as const
    const frame = { gvk: followedKind, newObjects: [number], events: [event], completeThrough: String(version) }
    this.#writer.append("watcher/sample", 1, version, encodeFrame(frame))
    this.#writer.commit()
  }

  /** Removes all but the last changes. */
  retain(changes: number): void {
    this.#writer.retention.setPolicy({ forMicros: changes, kinds: new Map() })
    while (this.#writer.retention.step(() => true));
  }

  /** Ends the HTTP interface as a recorder that stops does. */
  stop(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#serving, Exit.void))
  }

  /** Lets time pass, in steps after which whoever waited for them has had its turn. */
  async passes(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += stepMs) {
      this.clock.advance(Math.min(stepMs, ms - step))
      for (let turns = 0; turns < 20; turns++) await turn()
    }
  }

  /** Resolves when a client that does not read has been sent all that its connection holds. The kernel may take a while to say how much that is. */
  async stalled(): Promise<void> {
    for (let [used, quiet] = [-1, 0]; quiet < 300; quiet++) {
      if (this.underWay === 0 || this.used !== used) quiet = 0
      used = this.used
      await setTimeout(1)
    }
  }

  follow(query: string, headers: Readonly<Record<string, string>> = {}): Promise<Follower> {
    return Follower.start(`${this.url}${query}`, headers)
  }

  /** How many leases keep retention from it. */
  get leases(): number {
    return readdirSync(join(this.directory, LEASES)).length
  }
}

/** ms that pass at once. */
const stepMs = 1000

/** An item of a stream. */
export interface FollowedItem {
  readonly type: string
  readonly sequence?: number
  readonly reason?: string
}

/** A client on a connection of its own. It reads nothing before {@link Follower.read}. */
export class Follower {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly #response: IncomingMessage
  readonly #agent: Agent
  text = ""
  /** Whether the body came to its end. */
  isWhole = false
  readonly closed: Promise<void>

  private constructor(response: IncomingMessage, agent: Agent) {
    this.status = response.statusCode ?? 0
    this.headers = response.headers
    this.#response = response
    this.#agent = agent
    response.on("end", () => {
      this.isWhole = true
    })
    this.closed = new Promise((resolve) => response.on("close", resolve).on("error", () => undefined))
  }

  static async start(url: string, headers: Readonly<Record<string, string>>): Promise<Follower> {
    const agent = new Agent()
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { headers, agent }, resolve).on("error", reject)
    })
    return new Follower(response, agent)
  }

  read(): this {
    this.#response.setEncoding("utf8").on("data", (text: string) => {
      this.text += text
    })
    return this
  }

  /** Reads to the end of the connection. */
  async rest(): Promise<string> {
    this.read()
    await this.closed
    this.#agent.destroy()
    return this.text
  }

  /** Lines that are whole. */
  get items(): ReadonlyArray<FollowedItem> {
    return this.text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as FollowedItem)
  }

  leave(): void {
    this.#response.destroy()
    this.#agent.destroy()
  }
}
