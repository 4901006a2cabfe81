/**
 * What every object store must do with an export, tested against a server that speaks its real protocol. The contents are read by other
 * means than the target's: see the `StoreServer` of each.
 */
import { createCipheriv } from "node:crypto"
import { createServer, type Server, type Socket } from "node:net"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { readTargetPath, type StoreAddress } from "../../../src/blob/addresses/target-address.ts"
import { openSource } from "../../../src/blob/objects/open-source.ts"
import { type OpenTargetOptions, openTarget } from "../../../src/blob/objects/open-target.ts"
import { type ExportTarget, targetDeadlines } from "../../../src/blob/objects/part-writer.ts"
import { TargetError } from "../../../src/blob/requests/target-error.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { until } from "../../runtime/until.ts"
import { freePort } from "../server-process.ts"

export interface StoreServer {
  /** Variables with the server's address and credentials for the store's SDK. */
  readonly environment: Readonly<Record<string, string>>
  /** The same for another address than the server's. */
  elsewhere(url: string): Readonly<Record<string, string>>
  /** The object's bytes; `undefined` if there is none. */
  read(key: string): Promise<Uint8Array | undefined>
  /** The object's media type; `undefined` if the server keeps none. */
  readonly contentType: ((key: string) => Promise<string | undefined>) | undefined
  /** Uploads that were started and neither completed nor removed, with their parts. */
  unfinished(): Promise<ReadonlyArray<string>>
  stop(): Promise<void>
}

const mebibyte = 1024 * 1024

/** Bytes without repetitions: the key stream of a cipher. */
const bytesOf = (length: number, seed = 1): Buffer =>
  createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length))

/**
 * @param scheme of the store's URLs; the server has its bucket `traces`.
 * @param wrongSecret variables that replace the right ones; `undefined` if the server checks no credentials.
 */
export const describeStore = (
  scheme: string,
  start: () => Promise<StoreServer>,
  wrongSecret: ((server: StoreServer) => Readonly<Record<string, string>>) | undefined,
): void => {
  let server: StoreServer
  let key = ""
  let tests = 0
  const addressOf = (name: string, bucket = "traces"): StoreAddress => {
    const reading = readTargetPath(`${scheme}://${bucket}/${name}`)
    if (reading.tag !== "store") throw new Error(`${name} names no object`)
    return reading.address
  }
  const open = (address = addressOf(key), options: OpenTargetOptions = {}): Promise<ExportTarget> =>
    Effect.runPromise(openTarget(address, options))
  const write = async (target: ExportTarget, bytes: Buffer, piece: number): Promise<void> => {
    for (let at = 0; at < bytes.length; at += piece) await target.write(bytes.subarray(at, at + piece))
  }
  const use = (environment: Readonly<Record<string, string>>): void => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value)
  }

  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())
  beforeEach(() => {
    use(server.environment)
    // A name that must be encoded in URLs.
    key = `exports/ünder way/${++tests}+a b.sktrace`
    return () => vi.unstubAllEnvs()
  })

  describe("an export", () => {
    test("of several parts arrives byte for byte, with its media type", async () => {
      const bytes = bytesOf(17 * mebibyte + 4711)
      const target = await open(addressOf(key), { contentType: "application/x-ndjson" })
      await write(target, bytes, 100_003)
      expect(await server.read(key)).toBeUndefined()
      const url = `${scheme}://traces/exports/%C3%BCnder%20way/${tests}%2Ba%20b.sktrace`
      expect(await target.finish()).toEqual({ location: url, bytes: bytes.length })
      expect(Buffer.compare((await server.read(key)) ?? Buffer.alloc(0), bytes)).toBe(0)
      if (server.contentType) expect(await server.contentType(key)).toBe("application/x-ndjson")
      expect(await server.unfinished()).toEqual([])
    })

    test.each([
      ["no byte", 0],
      ["one byte", 1],
      ["one part exactly", 8 * mebibyte],
      ["two parts exactly", 16 * mebibyte],
    ])("of %s arrives", async (_, length) => {
      const bytes = bytesOf(length)
      const target = await open()
      await write(target, bytes, 65_536)
      await target.finish()
      expect(Buffer.compare((await server.read(key)) ?? Buffer.from("none"), bytes)).toBe(0)
    })

    test("replaces an object of that name when it is complete", async () => {
      for (const text of ["the first", "and the second"]) {
        const target = await open()
        await target.write(Buffer.from(text))
        await target.finish()
      }
      expect(Buffer.from((await server.read(key)) ?? "").toString()).toBe("and the second")
    })
  })

  describe("an object", () => {
    const source = (address: StoreAddress) => openSource(address, { signal: new AbortController().signal })

    test.each([0, 1, 9 * mebibyte + 4711])("of %d bytes is read back, byte for byte", async (length) => {
      const bytes = bytesOf(length)
      const target = await open()
      await write(target, bytes, mebibyte)
      await target.finish()
      const object = await source(addressOf(key))
      const pieces: Uint8Array[] = []
      for await (const piece of object.read()) pieces.push(piece)
      object.close()
      expect([object.size, Buffer.compare(Buffer.concat(pieces), bytes)]).toEqual([length, 0])
    })

    test("that is replaced while it is read is an error", async () => {
      const replace = async (seed: number): Promise<void> => {
        const target = await open()
        await write(target, bytesOf(13 * mebibyte, seed), mebibyte)
        await target.finish()
      }
      await replace(1)
      const object = await source(addressOf(key))
      const bytes = object.read()
      await bytes.next()
      await replace(2)
      const rest = async (): Promise<void> => {
        for await (const _ of bytes);
      }
      await expect(rest()).rejects.toMatchObject({ _tag: "TargetError", access: "read" })
      object.close()
    })

    test("that does not exist is named, and so is a bucket", async () => {
      await expect(source(addressOf("nothing"))).rejects.toMatchObject({ access: "read", code: "no-object" })
      await expect(source(addressOf("a", "no-such-bucket"))).rejects.toMatchObject({ access: "read" })
    })
  })

  describe("an aborted export", () => {
    test("after several parts leaves nothing", async () => {
      const target = await open()
      await write(target, bytesOf(26 * mebibyte), 1_000_000)
      await target.abort("the client went away")
      expect(await server.read(key)).toBeUndefined()
      expect(await server.unfinished()).toEqual([])
      await expect(target.finish()).rejects.toMatchObject({ _tag: "TargetError", code: "aborted" })
    })

    test("before its first part leaves nothing", async () => {
      const target = await open()
      await target.write(Buffer.from("not enough for a part"))
      await target.abort("the client went away")
      expect(await server.read(key)).toBeUndefined()
      expect(await server.unfinished()).toEqual([])
    })

    test("leaves the previous object as it was", async () => {
      const before = bytesOf(9 * mebibyte, 2)
      const first = await open(addressOf(key), { contentType: "text/x-before" })
      await write(first, before, mebibyte)
      await first.finish()
      const second = await open()
      await write(second, bytesOf(26 * mebibyte), mebibyte)
      await second.abort("the client went away")
      expect(Buffer.compare((await server.read(key)) ?? Buffer.alloc(0), before)).toBe(0)
      if (server.contentType) expect(await server.contentType(key)).toBe("text/x-before")
      expect(await server.unfinished()).toEqual([])
    })
  })

  describe("an export that cannot be written", () => {
    const failing = async (address: StoreAddress, options: OpenTargetOptions = {}): Promise<TargetError> => {
      const outcome = await Effect.runPromise(Effect.result(openTarget(address, options)))
      if (outcome._tag === "Success") throw new Error("it was opened")
      expect(outcome.failure).toBeInstanceOf(TargetError)
      return outcome.failure
    }

    test("because the bucket does not exist fails before anything is written", async () => {
      const error = await failing(addressOf("a", "no-such-bucket"))
      expect(error).toMatchObject({ provider: scheme, bucket: "no-such-bucket", key: "a", code: "no-bucket" })
      expect(error.reason).toMatch(/bucket|container|not found/i)
    })

    if (wrongSecret !== undefined) {
      test("because the secret is wrong is denied, and the error does not contain the secret", async () => {
        const variables = wrongSecret(server)
        use(variables)
        const error = await failing(addressOf("a"))
        expect(error.code).toBe("denied")
        expect(error.reason.length).toBeGreaterThan(5)
        for (const secret of Object.values(variables)) expect(error.message).not.toContain(secret)
      })
    }

    test("because no server listens is unreachable", async () => {
      use(server.elsewhere(`http://127.0.0.1:${await freePort()}`))
      const error = await failing(addressOf("a"))
      expect(error).toMatchObject({ code: "unreachable", reason: expect.stringContaining("ECONNREFUSED") })
    })

    test("because the server accepts the connection and stays silent ends at its deadline", async () => {
      const silent = await listenSilently()
      try {
        use(server.elsewhere(silent.url))
        const clock = new ManualClock()
        const failure = failing(addressOf("a"), { clock })
        await until(() => silent.sockets.size > 0)
        clock.advance(targetDeadlines.openMs)
        expect(await failure).toMatchObject({ code: "deadline", reason: "the store's response took longer than 20 s" })
      } finally {
        for (const socket of silent.sockets) socket.destroy()
        silent.server.close()
      }
    })

    test("because its SDK is not installed names the package", async () => {
      const importing = async (name: string): Promise<unknown> => {
        throw Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" })
      }
      const error = await failing(addressOf("a"), { importing })
      expect(error).toMatchObject({ code: "package-missing", reason: expect.stringMatching(/npm install @[a-z-]+\//) })
    })
  })
}

const listenSilently = (): Promise<{ server: Server; url: string; sockets: Set<Socket> }> =>
  new Promise((resolve) => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("error", () => sockets.delete(socket))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({ server, url: `http://127.0.0.1:${port}`, sockets })
    })
  })
