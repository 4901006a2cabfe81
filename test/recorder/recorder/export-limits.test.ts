/** The number of concurrent exports, their maximum duration and size, and what remains of an aborted one. */
import { createHash } from "node:crypto"
import { request as httpRequest } from "node:http"
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import type { ExportTarget } from "../../../src/blob/index.ts"
import { targetError } from "../../../src/blob/requests/target-error.ts"
import { anonymousAccess } from "../../../src/recorder/access/access.ts"
import type { ExportAudit } from "../../../src/recorder/export/handle.ts"
import { defaultExportLimits, withinLimits } from "../../../src/recorder/export/limits.ts"
import { ExportPlaces, maximumPerClient, PagePlaces } from "../../../src/recorder/export/places.ts"
import type { ExportReader } from "../../../src/recorder/export/service.ts"
import { bindHttpApi, type HttpApiSources, serveHttpApi } from "../../../src/recorder/http/http-api.ts"
import { Subscriptions } from "../../../src/recorder/http/subscriptions.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { until } from "../../runtime/until.ts"
import { everything } from "./recorder-command.ts"

/** Exports that the test feeds, and their outcomes. */
class Exports {
  readonly readers: ExportReader[] = []
  readonly audits: ExportAudit[] = []
  cancelled = 0
  readonly clock = new ManualClock()

  sources(more: Partial<HttpApiSources> = {}): HttpApiSources {
    return {
      notReady: () => undefined,
      degraded: () => undefined,
      verboseReadiness: () => "",
      metrics: Effect.succeed(""),
      startExport: (_, reader) =>
        Effect.sync(() => {
          this.readers.push(reader)
          const cancel = (): void => void this.cancelled++
          return {
            incomplete: undefined,
            future: undefined,
            unknownOwners: undefined,
            redacted: undefined,
            removed: [],
            gaps: 0,
            late: undefined,
            leftOut: [],
            warnings: [],
            cancel,
          }
        }),
      access: anonymousAccess,
      rejected: () => undefined,
      coverage: () => Effect.fail({ status: 500, message: "not here" }),
      startQuery: () => Effect.fail({ status: 500, message: "not here" }),
      nowMicros: () => 0,
      forecast: () => Effect.fail({ status: 500, message: "not here" }),
      places: new ExportPlaces(),
      placesOfPages: new PagePlaces(),
      subscriptions: new Subscriptions(),
      shownTo: () => Effect.succeed([]),
      limits: defaultExportLimits,
      audit: (line) => this.audits.push(line),
      barred: () => undefined,
      openTarget: () => Effect.never,
      uploadLeft: () => undefined,
      ...more,
    }
  }

  /** Runs a test against a server with these sources. */
  async serve(more: Partial<HttpApiSources>, use: (url: string) => Promise<void>): Promise<void> {
    const program = Effect.gen({ self: this }, function* () {
      const bound = yield* bindHttpApi("127.0.0.1", 0, this.clock)
      yield* serveHttpApi(bound, this.sources(more))
      yield* Effect.promise(() => use(bound.url))
    })
    await Effect.runPromise(Effect.scoped(program))
  }

  async reader(number: number): Promise<ExportReader> {
    await until(() => this.readers.length > number)
    return this.readers[number] as ExportReader
  }

  outcomes(): ReadonlyArray<readonly [string, number]> {
    return this.audits.map(({ outcome, bytes }) => [outcome, bytes])
  }
}

const post = (url: string, more: object = {}, init: RequestInit = {}): Promise<Response> =>
  fetch(`${url}/export`, { method: "POST", body: JSON.stringify({ ...everything("ndjson"), ...more }), ...init })

test("the smaller of two limits applies", () => {
  const own = { milliseconds: 5000, bytes: 100 }
  expect(withinLimits(own, {})).toEqual(own)
  expect(withinLimits(own, { maximum_seconds: 3, maximum_bytes: 500 })).toEqual({ milliseconds: 3000, bytes: 100 })
  expect(withinLimits(defaultExportLimits, { maximum_bytes: 7 })).toEqual({ milliseconds: 3_600_000, bytes: 7 })
})

describe("four exports at once", () => {
  test("are the maximum of one client; a fifth is told when to retry, and starts when one has ended", async () => {
    const exports = new Exports()
    await exports.serve({}, async (url) => {
      const answers = Array.from({ length: maximumPerClient }, () => post(url))
      const readers = await Promise.all(answers.map((_, index) => exports.reader(index)))
      const refused = await post(url)
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"])
      expect(await refused.text()).toBe("4 exports of this client are already running, which is the limit; try again\n")
      const dry = await post(url, { dry_run: true })
      expect([dry.status, await dry.text()]).toEqual([429, expect.stringContaining("4 exports of this client")])
      for (const reader of readers.splice(0, 1)) {
        await reader.piece(Buffer.from("x"))
        reader.end(undefined)
      }
      await until(() => exports.audits.length === 3)
      const last = post(url)
      readers.push(await exports.reader(maximumPerClient))
      for (const reader of readers) reader.end(undefined)
      const texts = await Promise.all([...answers, last].map(async (answer) => (await answer).text()))
      expect(texts.toSorted()).toEqual(["", "", "", "", "x"])
    })
    expect(exports.cancelled).toBe(0)
  })

  test("release their places however they end, dry runs too", async () => {
    const exports = new Exports()
    await exports.serve({}, async (url) => {
      for (let round = 0; round < 3; round++) {
        const abort = new AbortController()
        const gone = post(url, {}, { signal: abort.signal }).catch(() => undefined)
        const reader = await exports.reader(2 * round)
        abort.abort()
        await gone
        await until(() => exports.cancelled === round + 1)
        // Whatever arrives for it now is dropped.
        await reader.piece(Buffer.from("late"))
        reader.end(undefined)
        const failed = post(url)
        ;(await exports.reader(2 * round + 1)).end("the recording is broken")
        expect([(await failed).status, await (await failed).text()]).toEqual([500, "the recording is broken\n"])
        for (let dry = 0; dry < maximumPerClient; dry++) expect((await post(url, { dry_run: true })).status).toBe(500)
        await until(() => exports.audits.length === 2 * (round + 1))
      }
    })
    expect(exports.outcomes().slice(0, 2)).toEqual([
      ["the client disconnected", 0],
      ["failed: the recording is broken", 0],
    ])
  })
})

describe("a trace", () => {
  test("is followed by its checksum", async () => {
    const exports = new Exports()
    await exports.serve({}, async (url) => {
      const answered = new Promise<[string, string | undefined]>((resolve, reject) => {
        const sent = httpRequest(`${url}/export`, { method: "POST" }, (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (piece: string) => {
            text += piece
          })
          response.on("end", () => resolve([text, response.trailers["repr-digest"]]))
        })
        sent.on("error", reject)
        sent.end(JSON.stringify(everything("ndjson")))
      })
      const reader = await exports.reader(0)
      await reader.piece(Buffer.from("one "))
      await reader.piece(Buffer.from("two"))
      reader.end(undefined)
      const sum = createHash("sha256").update("one two").digest("base64")
      expect(await answered).toEqual(["one two", `sha-256=:${sum}:`])
    })
  })

  test("that grows too large ends with a broken connection, or with a 413 if none of it was sent", async () => {
    const exports = new Exports()
    await exports.serve({}, async (url) => {
      const begun = post(url, { maximum_bytes: 5 })
      const reader = await exports.reader(0)
      await reader.piece(Buffer.from("12345"))
      const answer = await begun
      await reader.piece(Buffer.from("6"))
      await expect(answer.text()).rejects.toThrow()
      const refused = post(url, { maximum_bytes: 5 })
      await (await exports.reader(1)).piece(Buffer.from("123456"))
      expect([(await refused).status, await (await refused).text()]).toEqual([
        413,
        "the response is larger than 5 bytes, which is the limit\n",
      ])
    })
    expect(exports.cancelled).toBe(2)
    expect(exports.outcomes()).toEqual([
      ["aborted: the response is larger than 5 bytes, which is the limit", 5],
      ["aborted: the response is larger than 5 bytes, which is the limit", 0],
    ])
  })

  test("that takes too long is aborted", async () => {
    const exports = new Exports()
    await exports.serve({}, async (url) => {
      const begun = post(url, { maximum_seconds: 3 })
      await (await exports.reader(0)).piece(Buffer.from("some"))
      const answer = await begun
      exports.clock.advance(3000)
      await expect(answer.text()).rejects.toThrow()
    })
    expect(exports.outcomes()).toEqual([["aborted: it took longer than 3 s, which is the limit", 4]])
    expect(exports.clock.pending).toBe(0)
  })
})

describe("a trace for an object store", () => {
  const target = { export_path: "s3://traces/monday" }

  class Store implements ExportTarget {
    readonly location = "s3://traces/monday"
    written = ""
    aborted: string | undefined
    failing: "write" | "finish" | undefined
    async write(data: Uint8Array): Promise<void> {
      if (this.failing === "write") throw this.#error()
      this.written += Buffer.from(data).toString("utf8")
    }
    async finish(): Promise<{ location: string; bytes: number }> {
      if (this.failing === "finish") throw this.#error()
      return { location: this.location, bytes: this.written.length }
    }
    async abort(reason: string): Promise<void> {
      this.aborted = reason
    }
    #error() {
      const address = { provider: "s3", host: undefined, region: undefined, bucket: "traces", key: "monday" } as const
      return targetError(address, "denied", "AccessDenied: not yours")
    }
  }

  const withStore = async (store: Store, use: (exports: Exports, url: string) => Promise<void>): Promise<Exports> => {
    const exports = new Exports()
    const openTarget = () => Effect.succeed(store)
    await exports.serve({ openTarget }, (url) => use(exports, url))
    return exports
  }

  test("is written there, and clients that accept JSON are told where, how large, and its checksum", async () => {
    const exports = await withStore(new Store(), async (exports, url) => {
      const answer = post(url, target, { headers: { Accept: "application/json" } })
      const reader = await exports.reader(0)
      await reader.piece(Buffer.from("bytes"))
      reader.end(undefined)
      const sha256 = createHash("sha256").update("bytes").digest("hex")
      expect(await (await answer).json()).toEqual({ location: "s3://traces/monday", bytes: 5, sha256 })
    })
    expect(exports.audits).toMatchObject([{ target: "s3://traces/monday", bytes: 5, outcome: "whole" }])
  })

  test("returns an empty body to SimKube's client, which would otherwise write the body over the object", async () => {
    await withStore(new Store(), async (exports, url) => {
      const answer = post(url, target)
      const reader = await exports.reader(0)
      await reader.piece(Buffer.from("bytes"))
      reader.end(undefined)
      const { status, headers } = await answer
      expect([status, headers.get("kubereel-location"), headers.get("kubereel-bytes")]).toEqual([
        200,
        "s3://traces/monday",
        "5",
      ])
      expect(await (await answer).text()).toBe("")
    })
  })

  test.each(["write", "finish"] as const)(
    "that the store refuses at %s is a 502 with its reason, and given up",
    async (step) => {
      const store = new Store()
      store.failing = step
      await withStore(store, async (exports, url) => {
        const answer = post(url, target)
        const reader = await exports.reader(0)
        await reader.piece(Buffer.from("bytes"))
        reader.end(undefined)
        expect([(await answer).status, await (await answer).text()]).toEqual([
          502,
          "cannot write s3://traces/monday: AccessDenied: not yours; give these credentials the permissions that " +
            "docs/reference/export-targets.md lists, or use others\n",
        ])
      })
      expect(store.aborted).toBeDefined()
    },
  )

  test.each<[string, (reader: ExportReader, exports: Exports) => void, number, string]>([
    ["fails", (reader) => reader.end("the recording is broken"), 500, "the recording is broken"],
    ["takes too long", (_, { clock }) => clock.advance(3_600_000), 504, "longer than 3600 s"],
  ])("that %s leaves nothing there", async (_, happen, status, text) => {
    const store = new Store()
    await withStore(store, async (exports, url) => {
      const answer = post(url, target)
      const reader = await exports.reader(0)
      await reader.piece(Buffer.from("bytes"))
      happen(reader, exports)
      expect([(await answer).status, await (await answer).text()]).toEqual([status, expect.stringContaining(text)])
    })
    expect(store.aborted).toBeDefined()
  })

  test("whose client has gone is aborted, and its slot released", async () => {
    const store = new Store()
    const exports = await withStore(store, async (exports, url) => {
      const abort = new AbortController()
      const answer = post(url, target, { signal: abort.signal }).catch(() => undefined)
      await (await exports.reader(0)).piece(Buffer.from("bytes"))
      abort.abort()
      await answer
      await until(() => exports.audits.length === 1)
    })
    expect([exports.cancelled, store.aborted]).toEqual([1, "gone"])
    expect(exports.outcomes()).toEqual([["the client disconnected", 5]])
  })

  test("causes interim responses while it is written, for clients that accept JSON", async () => {
    await withStore(new Store(), async (exports, url) => {
      let signs = 0
      const answered = new Promise<number | undefined>((resolve, reject) => {
        const headers = { accept: "application/json" }
        const sent = httpRequest(`${url}/export`, { method: "POST", headers }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
        sent.on("information", ({ statusCode }) => {
          if (statusCode === 102) signs++
        })
        sent.on("error", reject)
        sent.end(JSON.stringify({ ...everything("ndjson"), ...target }))
      })
      const reader = await exports.reader(0)
      for (let count = 1; count <= 2; count++) {
        exports.clock.advance(30_000)
        await until(() => signs === count)
      }
      reader.end(undefined)
      expect(await answered).toBe(200)
    })
  })
})
