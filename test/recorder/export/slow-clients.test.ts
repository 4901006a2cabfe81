/** Clients that read slowly from real sockets lose their places, measured on a clock that the test moves; those that are fast do not. */
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import * as Effect from "effect/Effect"
import { afterEach, expect, test } from "vitest"
import { ExportPlaces, maximumPerClient } from "../../../src/recorder/export/places.ts"
import { responseSink } from "../../../src/recorder/export/response-sink.ts"
import type { ExportReader } from "../../../src/recorder/export/service.ts"
import type { StartedExport } from "../../../src/recorder/export/start.ts"
import { type ExportOutcome, transferExport } from "../../../src/recorder/export/transfer.ts"
import { clientGone } from "../../../src/recorder/http/body/http-answer.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { turn, until } from "../../runtime/until.ts"

const kib = 1024
const pieceBytes = 64 * kib

const facts: Omit<StartedExport, "cancel"> = {
  gaps: 0,
  late: undefined,
  leftOut: [],
  warnings: [],
  incomplete: undefined,
  future: undefined,
  redacted: undefined,
  unknownOwners: undefined,
  removed: [],
}

/** An endless trace, as fast as its client takes it, until it is cancelled. */
const endless = (reader: ExportReader): Effect.Effect<StartedExport> =>
  Effect.sync(() => {
    let isCancelled = false
    const send = async (): Promise<void> => {
      const piece = new Uint8Array(pieceBytes)
      while (!isCancelled) {
        await reader.piece(piece)
        // As a message of another thread: of a client that is gone, pieces are taken at once, and nothing else would ever run.
        await turn()
      }
    }
    void send()
    return {
      ...facts,
      cancel: () => {
        isCancelled = true
      },
    }
  })

const servers: Server[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve))
})

/** A recorder whose exports all belong to one client. */
const recorder = async (clock: ManualClock) => {
  const places = new ExportPlaces(clock)
  const outcomes: ExportOutcome[] = []
  const server = createServer(async (_request, response) => {
    const place = places.take("one")
    if ("message" in place) return void response.writeHead(429).end()
    const limits = { milliseconds: 3_600_000, bytes: Number.POSITIVE_INFINITY }
    const sink = responseSink(response, "application/x-ndjson", clock)
    outcomes.push(
      await Effect.runPromise(
        transferExport({ start: endless, sink, limits, gone: clientGone(response), clock, place }),
      ),
    )
    place.giveBack()
    response.destroy()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  servers.push(server)
  return { port: (server.address() as AddressInfo).port, outcomes }
}

/** A client that reads as many bytes as it is told to, and no more than its socket's 64 KiB ahead. */
class Client {
  readonly #socket: Socket
  #wake = (): void => undefined
  #isOver = false

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1")
    this.#socket.on("readable", () => this.#wake())
    this.#socket.on("error", () => undefined)
    this.#socket.on("close", () => {
      this.#isOver = true
      this.#wake()
    })
    this.#socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    sockets.push(this.#socket)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The first of the bytes, as text. */
  async read(bytes: number): Promise<string> {
    let first = ""
    for (let left = bytes; left > 0 && !this.#isOver; ) {
      const ready = this.#socket.readableLength
      const piece: Buffer | null = ready === 0 ? null : this.#socket.read(Math.min(left, ready))
      if (piece === null) {
        this.#socket.read(0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      if (first === "") first = piece.toString("latin1", 0, 20)
      left -= piece.length
    }
    return first
  }
}

/** Lets the recorder fill what has become free. */
const settled = async (): Promise<void> => {
  for (let each = 0; each < 20; each++) await turn()
}

/** All clients read so much in each of so many seconds. */
const seconds = async (
  clock: ManualClock,
  count: number,
  readers: ReadonlyArray<readonly [client: Client, bytesPerSecond: number]>,
): Promise<void> => {
  for (let second = 0; second < count; second++) {
    for (const [client, bytes] of readers) await client.read(bytes)
    await settled()
    clock.advance(1000)
  }
}

test("four clients that read 32 KiB/s hold all places for a minute at most: then the next request ends one of them", async () => {
  const clock = new ManualClock()
  const { port, outcomes } = await recorder(clock)
  const slow = Array.from({ length: maximumPerClient }, () => new Client(port))
  for (const client of slow) expect(await client.read(pieceBytes)).toMatch(/^HTTP\/1\.1 200/)
  expect(await new Client(port).read(20)).toMatch(/^HTTP\/1\.1 429/)
  await seconds(
    clock,
    60,
    slow.map((client) => [client, 32 * kib]),
  )
  expect(await new Client(port).read(20)).toMatch(/^HTTP\/1\.1 200/)
  await until(() => outcomes.length === 1)
  expect(outcomes[0]).toMatchObject({
    tag: "limit",
    status: 503,
    message: expect.stringMatching(/^its client reads \d+ KiB\/s, and another request needs its place$/),
  })
})

test("a client that reads 256 KiB/s keeps its place, and the slowest goes first", async () => {
  const clock = new ManualClock()
  const { port, outcomes } = await recorder(clock)
  const fast = Array.from({ length: maximumPerClient - 1 }, () => new Client(port))
  const slow = new Client(port)
  for (const client of [...fast, slow]) await client.read(pieceBytes)
  await seconds(clock, 60, [...fast.map((client) => [client, 256 * kib] as const), [slow, 16 * kib]])
  expect(await new Client(port).read(20)).toMatch(/^HTTP\/1\.1 200/)
  await until(() => outcomes.length === 1)
  expect(fast.map(({ isOver }) => isOver)).toEqual([false, false, false])
  // The new one has read nothing yet, and is not slow either.
  expect(await new Client(port).read(20)).toMatch(/^HTTP\/1\.1 429/)
  expect(outcomes).toHaveLength(1)
}, 20_000)
