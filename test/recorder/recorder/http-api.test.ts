/** The HTTP interface on its own, with sources made by the test. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { anonymousAccess } from "../../../src/recorder/access/access.ts"
import { defaultExportLimits } from "../../../src/recorder/export/limits.ts"
import { ExportPlaces } from "../../../src/recorder/export/places.ts"
import type { ExportReader } from "../../../src/recorder/export/service.ts"
import { bindHttpApi, type HttpApiSources, serveHttpApi } from "../../../src/recorder/http/http-api.ts"
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
