/** The HTTP interface on its own, with sources made by the test. */
import { request } from "node:http"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { type Access, anonymousAccess } from "../../../src/recorder/access/access.ts"
import { withoutForeignPages } from "../../../src/recorder/access/browser-guard.ts"
import { defaultExportLimits } from "../../../src/recorder/export/limits.ts"
import { ExportPlaces, PagePlaces } from "../../../src/recorder/export/places.ts"
import type { ExportReader } from "../../../src/recorder/export/service.ts"
import { bindHttpApi, type HttpApiSources, serveHttpApi, serveStandby } from "../../../src/recorder/http/http-api.ts"
import { Subscriptions } from "../../../src/recorder/http/subscriptions.ts"
import { everything } from "./recorder-command.ts"

const head = '{"incomplete":{"v1.Pod":"forbidden"}}\n'

const sources: HttpApiSources = {
  notReady: () => undefined,
  degraded: () => undefined,
  verboseReadiness: () => "all\n",
  metrics: Effect.succeed(""),
  startExport: (_, reader: ExportReader) =>
    Effect.sync(() => {
      void reader.piece(Buffer.from(head)).then(() => reader.end(undefined))
      return {
        incomplete: "v1.Pod=forbidden",
        future: "2026-11-21T10:30:00.000Z/2030-01-01T00:00:00.000Z",
        unknownOwners: undefined,
        redacted: undefined,
        removed: [],
        gaps: 2,
        late: undefined,
        leftOut: [],
        warnings: [],
        cancel: () => undefined,
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
  audit: () => undefined,
  barred: () => ({ status: 403, message: "not there" }),
  openTarget: () => Effect.never,
  uploadLeft: () => undefined,
}

test("an address is bound before there is anything to serve, and requests are told so until then", async () => {
  const program = Effect.gen(function* () {
    const bound = yield* bindHttpApi("127.0.0.1", 0)
    const get = (path: string) =>
      Effect.promise(async () => {
        const answer = await fetch(bound.url + path)
        return [answer.status, await answer.text()]
      })
    expect(yield* get("/healthz")).toEqual([200, "ok\n"])
    for (const path of ["/readyz", "/metrics", "/export"]) {
      expect(yield* get(path)).toEqual([503, "the recorder is starting; try again\n"])
    }
    yield* serveHttpApi(bound, sources)
    expect(yield* get("/readyz")).toEqual([200, "ok\n"])
  })
  await Effect.runPromise(Effect.scoped(program))
})

test("the header of an export names the same kinds as the trace itself", async () => {
  const program = Effect.gen(function* () {
    const bound = yield* bindHttpApi("127.0.0.1", 0)
    yield* serveHttpApi(bound, sources)
    yield* Effect.promise(async () => {
      const answer = await fetch(`${bound.url}/export`, {
        method: "POST",
        body: JSON.stringify(everything("ndjson")),
      })
      expect(await answer.text()).toBe(head)
      expect(answer.headers.get("kubereel-incomplete")).toBe("v1.Pod=forbidden")
      expect(answer.headers.get("kubereel-gaps")).toBe("2")
    })
  })
  await Effect.runPromise(Effect.scoped(program))
})

test("the page is open to everyone by a name of the recorder, whatever a token would be needed for", async () => {
  const access: Access = {
    ...withoutForeignPages(anonymousAccess, []),
    decide: async () => ({ tag: "refused", status: 401, message: "a token is required" }),
  }
  const program = Effect.gen(function* () {
    const bound = yield* bindHttpApi("127.0.0.1", 0)
    const statusOf = (path: string, host = "localhost") =>
      Effect.promise<number>(
        () =>
          new Promise((resolve, reject) => {
            const asked = request(bound.url + path, { headers: { host }, agent: false }, (answer) => {
              answer.resume()
              resolve(answer.statusCode ?? 0)
            })
            asked.on("error", reject).end()
          }),
      )
    expect(yield* statusOf("/ui/")).toBe(503)
    serveStandby(bound, { reason: () => "standby", metrics: () => "", access })
    expect(yield* statusOf("/ui/")).toBe(503)
    yield* serveHttpApi(bound, { ...sources, access })
    expect(yield* statusOf("/ui/")).toBe(200)
    expect(yield* statusOf("/v1/kinds")).toBe(401)
    expect(yield* statusOf("/ui/", "rebound.example")).toBe(421)
  })
  await Effect.runPromise(Effect.scoped(program))
})
