/** What every {@link BlobStore} must do, tested against servers that speak the stores' protocols, through a network that fails, and against a directory. */
import { createCipheriv } from "node:crypto"
import * as fc from "fast-check"
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest"
import { type BlobStore, type ListedObject, openStore, readStorePlace, TargetError } from "../../../src/blob/index.ts"
import type { OpenStoreOptions } from "../../../src/blob/stores/open-store.ts"
import { type Clock, systemClock } from "../../../src/clock.ts"
import type { StoreServer } from "../objects/store-contract.ts"
import { FaultyProxy } from "./faulty-proxy.ts"

/** A bucket or a directory for the tests of one file. */
export interface TestedStore {
  /** The address of a prefix of it, or of the whole (""). */
  readonly url: (prefix: string) => Promise<string>
  /** The address of one that does not exist. */
  readonly missing: string
  /** What only a store on a network has. */
  readonly network?: {
    readonly server: Pick<StoreServer, "environment" | "elsewhere">
    readonly port: number
    /** The store's HTTP response to too many requests. */
    readonly busy: string
    /** Variables with a wrong secret; none if the server checks none. */
    readonly wrongSecret: Readonly<Record<string, string>>
  }
  stop(): Promise<void>
}

/** The bucket `traces` of a server. */
export const testedStore = (
  scheme: string,
  server: StoreServer,
  settings: {
    readonly busy: string
    readonly wrongSecret: ((server: StoreServer) => Readonly<Record<string, string>>) | undefined
  },
): TestedStore => {
  const port = /127\.0\.0\.1:(\d+)/.exec(Object.values(server.environment).join(" "))?.[1]
  const { busy, wrongSecret } = settings
  return {
    url: async (prefix) => `${scheme}://traces/${encodeURIComponent(prefix)}`,
    missing: `${scheme}://no-such-bucket/a`,
    network: { server, port: Number(port), busy, wrongSecret: wrongSecret?.(server) ?? {} },
    stop: () => server.stop(),
  }
}

/** An HTTP response for {@link TestedStore}. */
export const httpResponse = (status: string, headers: ReadonlyArray<string>, body: string): string =>
  [`HTTP/1.1 ${status}`, "Connection: close", `Content-Length: ${body.length}`, ...headers, "", body].join("\r\n")

const none = Buffer.alloc(0)
const mebibyte = 1024 * 1024

/** Bytes without repetitions: the key stream of a cipher. */
const bytesOf = (length: number, seed = 1): Buffer =>
  createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length))

/** Pauses between attempts pass fifty times as fast; deadlines do not. */
const hurried: Clock = {
  ...systemClock,
  after: (delayMs, action) => systemClock.after(delayMs > 10_000 ? delayMs : delayMs / 50, action),
}

/** The keys of a list. */
export const all = async (list: AsyncIterable<ListedObject>): Promise<ReadonlyArray<string>> => {
  const keys: string[] = []
  for await (const { key } of list) keys.push(key)
  return keys
}

const inTurn = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index)

const placeOf = (url: string) => {
  const reading = readStorePlace(url)
  if (reading.tag === "refused") throw new Error(reading.message)
  return reading.place
}

export const describeBlobStore = (name: string, start: () => Promise<TestedStore>): void => {
  describe(name, () => {
    let tested: TestedStore
    let tests = 0
    let prefix = ""
    const opened: BlobStore[] = []
    const open = async (options: OpenStoreOptions = {}): Promise<BlobStore> => {
      const store = await openStore(placeOf(await tested.url(prefix)), { clock: hurried, ...options })
      opened.push(store)
      return store
    }
    const use = (environment: Readonly<Record<string, string>>): void => {
      for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value)
    }
    beforeAll(async () => {
      tested = await start()
    })
    afterAll(() => tested.stop())
    beforeEach(() => {
      if (tested.network !== undefined) use(tested.network.server.environment)
      prefix = `ledger ${++tests}`
      return () => {
        for (const store of opened.splice(0)) store.close()
        vi.unstubAllEnvs()
      }
    })

    describe("an object", () => {
      test("is created by exactly one of sixteen writers, in each of 40 rounds", async () => {
        const stores = await Promise.all(inTurn(4).map(() => open()))
        for (const round of inTurn(40)) {
          const key = `round/${round}`
          const bodies = inTurn(16).map((writer) => bytesOf(65_536, 1 + writer))
          const outcomes = await Promise.all(bodies.map((body, writer) => stores[writer % 4]?.create(key, [body])))
          expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1)
          expect(outcomes.filter((outcome) => outcome === "exists")).toHaveLength(15)
          const found = await stores[0]?.read(key)
          expect(Buffer.compare(found?.bytes ?? none, bodies[outcomes.indexOf("created")] ?? none)).toBe(0)
        }
      })

      test("of 8 MiB is created by exactly one of eight writers, and arrives whole", async () => {
        const store = await open()
        const bodies = inTurn(8).map((writer) => bytesOf(8 * mebibyte, 1 + writer))
        const outcomes = await Promise.all(bodies.map((body) => store.create("large", [body])))
        expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1)
        const found = await store.read("large")
        expect(found?.size).toBe(8 * mebibyte)
        expect(Buffer.compare(found?.bytes ?? none, bodies[outcomes.indexOf("created")] ?? none)).toBe(0)
      })

      test("of 70 MiB in several pieces is created once, and is read in ranges", async () => {
        const store = await open()
        const pieces = [bytesOf(33 * mebibyte + 1, 1), bytesOf(0), bytesOf(37 * mebibyte - 1, 2)]
        const outcomes = await Promise.all([store.create("huge", pieces), store.create("huge", pieces)])
        expect([...outcomes].sort()).toEqual(["created", "exists"])
        expect(await store.create("huge", pieces)).toBe("exists")
        const whole = Buffer.concat(pieces)
        for (const from of [0, 16 * mebibyte - 5, 33 * mebibyte - 5, 70 * mebibyte - 10]) {
          const found = await store.read("huge", { from, until: from + 10 })
          expect([found?.size, Buffer.from(found?.bytes ?? none)]).toEqual([
            whole.length,
            whole.subarray(from, from + 10),
          ])
        }
      })

      test("is read whole, in ranges and from its end; what lies past the end is left out", async () => {
        const store = await open()
        const bytes = bytesOf(1000)
        await store.create("a", [bytes.subarray(0, 400), bytes.subarray(400)])
        await store.create("empty", [])
        for (const [range, from, until] of [
          [undefined, 0, 1000],
          [{ from: 0 }, 0, 1000],
          [{ from: 990 }, 990, 1000],
          [{ from: 0, until: 1 }, 0, 1],
          [{ from: 999, until: 5000 }, 999, 1000],
          [{ from: 1000 }, 1000, 1000],
          [{ from: 5000, until: 6000 }, 1000, 1000],
          [{ last: 1 }, 999, 1000],
          [{ last: 5000 }, 0, 1000],
        ] as const) {
          const found = await store.read("a", range)
          expect([range, found?.size, Buffer.from(found?.bytes ?? "none")]).toEqual([
            range,
            1000,
            bytes.subarray(from, until),
          ])
        }
        for (const range of [undefined, { from: 0 }, { from: 0, until: 5 }, { last: 5 }])
          expect(await store.read("empty", range)).toMatchObject({ size: 0, bytes: { length: 0 } })
        for (const range of [undefined, { from: 5 }, { last: 5 }])
          expect(await store.read("none", range)).toBeUndefined()
      })

      test("has any key that names a file, and no key leaves its prefix", async () => {
        const segment = fc.oneof(
          fc.constantFrom(
            "a b",
            "a+b",
            "100%",
            "%2F",
            "ü",
            "日本",
            "a'\"<&>",
            "~",
            "#?",
            "a=b;c",
            "[x]",
            "{y}",
            "a..",
            "-",
          ),
          fc.string({
            unit: fc.constantFrom(..."aZ9 +%&=?#'\"<>;:,@$!*()[]{}|^~`._-üß語𝄞"),
            minLength: 1,
            maxLength: 12,
          }),
        )
        // A file system cannot have a file and a folder of one name.
        const key = fc.array(segment, { minLength: 1, maxLength: 3 }).map((parts) => `${parts.join("/")}/end`)
        const store = await open()
        const written = new Map<string, string>()
        await fc.assert(
          fc.asyncProperty(key, async (each) => {
            const isKey = each.split("/").every((part) => part !== "." && part !== "..")
            if (!isKey) return void (await expect(store.create(each, [])).rejects.toMatchObject({ code: "bad-key" }))
            expect(await store.create(each, [Buffer.from(each)])).toBe(written.has(each) ? "exists" : "created")
            written.set(each, each)
            expect(Buffer.from((await store.read(each))?.bytes ?? "").toString()).toBe(each)
          }),
          { numRuns: 60 },
        )
        expect([...(await all(store.list("")))].sort()).toEqual([...written.keys()].sort())
        for (const bad of ["", "..", "../a", "a/../../b", "a//b", "/a", "a/", ".", "a\0b", "a\nb", "\ud800"]) {
          await expect(store.create(bad, [])).rejects.toMatchObject({ code: "bad-key" })
          await expect(store.read(bad)).rejects.toMatchObject({ code: "bad-key" })
          await expect(store.remove([bad])).rejects.toMatchObject({ code: "bad-key" })
        }
        await store.remove([...written.keys()])
        expect(await all(store.list(""))).toEqual([])
      })
    })

    test("objects are listed in order, over several pages, and many are removed at once", async () => {
      const store = await open()
      // Stores list and remove a thousand at once, or several thousand; a directory has no pages.
      const [count, removed] = tested.network === undefined ? [400, 200] : [2500, 1100]
      const keys = inTurn(count).map(
        (number) => `${number % 2 === 0 ? "even" : "odd"}/${String(number).padStart(5, "0")}`,
      )
      for (let at = 0; at < keys.length; at += 50)
        await Promise.all(keys.slice(at, at + 50).map((key) => store.create(key, [Buffer.from(key)])))
      const sorted = [...keys].sort()
      expect(await all(store.list(""))).toEqual(sorted)
      expect(await all(store.list("odd/"))).toEqual(sorted.filter((key) => key.startsWith("odd/")))
      expect(await all(store.list("even/0001"))).toEqual(sorted.filter((key) => key.startsWith("even/0001")))
      expect(await all(store.list("nothing"))).toEqual([])
      for (const after of ["even/00300", "even/", "even/00301x", sorted.at(-1) ?? ""])
        expect(await all(store.list("", { after }))).toEqual(sorted.filter((key) => key > after))
      expect(await all(store.list("", { delimiter: "/" }))).toEqual(["even/", "odd/"])
      expect(await all(store.list("", { delimiter: "/", after: "even/" }))).toEqual(["odd/"])
      const first = (await store.list(sorted.at(-1) ?? "").next()).value
      expect(first).toMatchObject({ key: sorted.at(-1), bytes: sorted.at(-1)?.length })
      expect(Math.abs((first?.modifiedMs ?? 0) - Date.now())).toBeLessThan(300_000)
      await store.remove([...sorted.slice(0, removed), "even/none", "none"])
      expect(await all(store.list(""))).toEqual(sorted.slice(removed))
      await store.remove(sorted.slice(removed))
      expect(await all(store.list(""))).toEqual([])
    })

    test("keys are listed in the order of their bytes", async () => {
      const store = await open()
      const keys = ["a b", "a!b", "a-b", "a.b", "a/b", "a/b.c", "a/bc", "a0", "aa", "b/𝄞", "ü"]
      for (const key of keys.toReversed()) expect(await store.create(key, [])).toBe("created")
      const sorted = keys.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
      expect(await all(store.list(""))).toEqual(sorted)
      for (const after of keys)
        expect(await all(store.list("", { after }))).toEqual(sorted.slice(sorted.indexOf(after) + 1))
      const shallow = ["a b", "a!b", "a-b", "a.b", "a/", "a0", "aa", "b/", "ü"]
      expect(await all(store.list("", { delimiter: "/" }))).toEqual(shallow)
    })

    test("counts requests and bytes", async () => {
      const store = await open()
      await store.create("a", [bytesOf(1000)])
      await store.read("a", { from: 100, until: 200 })
      await store.read("a", { last: 10 })
      await all(store.list("a"))
      await store.remove(["a"])
      expect(store.usage()).toEqual({
        write: { requests: 1, bytes: 1000 },
        read: { requests: 2, bytes: 110 },
        list: { requests: 1, bytes: 0 },
        remove: { requests: 1, bytes: 0 },
      })
    })

    test("one that does not exist is named, with what to do", async () => {
      const opening = openStore(placeOf(tested.missing), { clock: hurried }).then((store) => store.create("a", []))
      await expect(opening).rejects.toBeInstanceOf(TargetError)
      await expect(opening).rejects.toMatchObject({
        code: "no-bucket",
        message: expect.stringMatching(/^cannot write .*; create it, or correct the address$/),
      })
    })

    test("what is under way ends when the caller ends it, and when the store is closed", async () => {
      const store = await open()
      const reason = new AbortController()
      reason.abort()
      await expect(store.create("a", [], reason.signal)).rejects.toMatchObject({ code: "aborted", access: "write" })
      await expect(store.read("a", undefined, reason.signal)).rejects.toMatchObject({ code: "aborted", access: "read" })
      store.close()
      store.close()
      await expect(store.read("a")).rejects.toMatchObject({ code: "aborted", reason: "the store was closed" })
    })
  })
}

/** What a store on a network must do while that fails; called inside of {@link describeBlobStore}'s file, with the same start. */
export const describeFailures = (name: string, start: () => Promise<TestedStore>, checksCredentials = true): void => {
  describe(`${name}: a network that fails`, () => {
    let tested: TestedStore
    let network: NonNullable<TestedStore["network"]>
    let proxy: FaultyProxy
    let tests = 0
    let store: BlobStore
    const body = bytesOf(300_000)
    const use = (environment: Readonly<Record<string, string>>): void => {
      for (const [variable, value] of Object.entries(environment)) vi.stubEnv(variable, value)
    }
    const open = async (options: OpenStoreOptions = {}): Promise<BlobStore> =>
      openStore(placeOf(await tested.url(`failures ${tests}`)), { clock: hurried, ...options })

    beforeAll(async () => {
      tested = await start()
      if (tested.network === undefined) throw new Error(`${name} is on no network`)
      network = tested.network
      proxy = await FaultyProxy.start(network.port)
    })
    afterAll(async () => {
      await proxy[Symbol.asyncDispose]()
      await tested.stop()
    })
    beforeEach(async () => {
      tests++
      use(network.server.environment)
      use(network.server.elsewhere(proxy.url))
      proxy.next()
      store = await open()
      return () => {
        store.close()
        vi.unstubAllEnvs()
      }
    })

    test("in the middle of a request: the object is whole, and there once", async () => {
      for (const after of [1, 50, 400, 5000, 100_000, 299_999, 300_000 + Math.floor(Math.random() * 2000)]) {
        proxy.next({ cut: "request", after }, { cut: "request", after: Math.floor(Math.random() * 300_000) })
        const key = `cut after ${after}`
        expect(["created", "exists"]).toContain(await store.create(key, [body]))
        if (after < body.length) expect(proxy.left).toBe(0)
        expect(Buffer.compare((await store.read(key))?.bytes ?? none, body)).toBe(0)
      }
    })

    test("in the middle of an answer: what is read is whole", async () => {
      await store.create("a", [body])
      for (const key of ["b", "c", "d"]) await store.create(key, [])
      for (const after of [0, 1, 10, 300, 100_000, 299_000, Math.floor(Math.random() * 300_000)]) {
        proxy.next({ cut: "answer", after }, { cut: "answer", after: Math.floor(Math.random() * 300_000) })
        expect(Buffer.compare((await store.read("a"))?.bytes ?? none, body)).toBe(0)
        proxy.next({ cut: "answer", after: after % 500 })
        expect(await all(store.list(""))).toEqual(["a", "b", "c", "d"])
      }
    })

    test("when an answer is lost: the caller is told that the object exists, and finds its own", async () => {
      proxy.next({ drop: "answer" })
      expect(await store.create("a", [body])).toBe("exists")
      expect(Buffer.compare((await store.read("a"))?.bytes ?? none, body)).toBe(0)
      proxy.next({ drop: "answer" })
      await store.remove(["a"])
      expect(await store.read("a")).toBeUndefined()
      expect(proxy.left).toBe(0)
    })

    test("when the answer to the request of a large object is lost", async () => {
      const pieces = [bytesOf(40 * mebibyte, 1), bytesOf(30 * mebibyte, 2)]
      proxy.next({ drop: "answer" })
      // The client has to learn that its idle connections were closed: a request on one of these would fail in place of the one that is meant.
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
      expect(await store.create("huge", pieces)).toBe("exists")
      const found = await store.read("huge", { from: 40 * mebibyte - 10, until: 40 * mebibyte + 10 })
      expect(found?.size).toBe(70 * mebibyte)
      expect(Buffer.from(found?.bytes ?? none)).toEqual(
        Buffer.concat([bytesOf(40 * mebibyte, 1).subarray(-10), bytesOf(10, 2)]),
      )
    })

    test("when the store asks for fewer requests, it gets them, and in the end an error says so", async () => {
      const busy = { answer: network.busy }
      proxy.next(busy, busy, busy)
      expect(await store.create("a", [body])).toBe("created")
      proxy.next(busy, busy)
      expect(Buffer.compare((await store.read("a"))?.bytes ?? none, body)).toBe(0)
      const { requests, bytes } = store.usage().write
      expect(requests).toBeGreaterThanOrEqual(4)
      expect(bytes).toBe(requests * body.length)
      proxy.next(...inTurn(50).map(() => busy))
      const hasty = await open({ patienceMs: 400 })
      await expect(hasty.read("a")).rejects.toMatchObject({
        code: "throttled",
        message: expect.stringContaining("; send fewer requests at once, or raise the store's limit"),
      })
      hasty.close()
    })

    test("when the server is down for some seconds", async () => {
      const down = inTurn(6).map(() => ({ refuse: true }) as const)
      proxy.next(...down)
      expect(await store.create("a", [body])).toBe("created")
      proxy.next(...down)
      expect(await all(store.list(""))).toEqual(["a"])
      expect(proxy.left).toBe(0)
    })

    test("when it stays down, an error says what cannot be reached", async () => {
      proxy.next(...inTurn(50).map(() => ({ refuse: true }) as const))
      const hasty = await open({ patienceMs: 300 })
      await expect(hasty.create("a", [body])).rejects.toMatchObject({
        code: "unreachable",
        key: expect.stringMatching(/^failures \d+\/a$/),
        message: expect.stringContaining("; check the network, and the endpoint in the environment"),
      })
      hasty.close()
    })

    if (checksCredentials)
      test("a wrong secret is denied, and not in the error", async () => {
        use({ ...network.server.environment, ...network.wrongSecret })
        const denied = await open()
        const error = await denied.create("a", [body]).catch((cause: unknown) => cause)
        expect(error).toMatchObject({ code: "denied", message: expect.stringContaining("; give these credentials") })
        for (const secret of Object.values(network.wrongSecret)) expect(String(error)).not.toContain(secret)
        denied.close()
      })
  })
}
