/** Web pages of other origins get nothing from a recorder that requires no token. */
import * as Effect from "effect/Effect"
import { describe, expect, test } from "vitest"
import { type Action, anonymousAccess, type Decision } from "../../../src/recorder/access/access.ts"
import { type OwnNames, withoutForeignPages } from "../../../src/recorder/access/browser-guard.ts"
import { openAccess } from "../../../src/recorder/access/open-access.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const decide = (headers: Record<string, string>, action: Action = "export", names: OwnNames = []): Promise<Decision> =>
  withoutForeignPages(anonymousAccess, names).decide(headers, action)

const statusOf = async (...parameters: Parameters<typeof decide>): Promise<number> => {
  const decision = await decide(...parameters)
  return decision.tag === "allowed" ? 200 : decision.status
}

describe("the host name in a request to a recorder", () => {
  test.each([
    "localhost",
    "localhost:7777",
    "LocalHost.:7777",
    "127.0.0.1:7777",
    "127.1.2.3",
    "[::1]:7777",
    "10.0.0.7:7777",
    "[fd00::7]",
  ])("%s is its own: no page has an address, or localhost, for a name of its own", async (host) => {
    for (const action of ["export", "coverage", "metrics"] as const) expect(await statusOf({ host }, action)).toBe(200)
  })

  test.each([
    "evil.example",
    "evil.example:7777",
    "127.0.0.1.evil.example:7777",
    "localhost.evil.example",
    "0x7f.1:7777",
    "127.1",
    "[::1].evil.example",
    "user@localhost",
    "localhost:7777:7777",
    "[::1",
    "",
    "…",
  ])("%j may be a page's whose name means this machine by now, and is answered 421", async (host) => {
    for (const action of ["export", "coverage", "metrics"] as const) expect(await statusOf({ host }, action)).toBe(421)
  })

  test("is accepted if --listen or --allow-host names it, in any spelling", async () => {
    const names = ["recorder.example.com", "::1"]
    expect(await statusOf({ host: "Recorder.Example.com:80" }, "export", names)).toBe(200)
    expect(await statusOf({ host: "example.com" }, "export", names)).toBe(421)
  })

  test("is quoted in the rejection, up to the length of a line", async () => {
    const decision = await decide({ host: `evil.example${"x".repeat(5000)}` })
    expect(decision).toMatchObject({ message: expect.stringMatching(/^the host name "evil\.examplex+/) })
    expect(decision.tag === "refused" && decision.message.length).toBeLessThan(500)
  })

  test("may be missing, as in HTTP/1.0, which no browser uses", async () => {
    expect(await statusOf({})).toBe(200)
  })
})

describe("an export", () => {
  const host = "127.0.0.1:7777"

  test("for a page of another origin is rejected, with any header that reveals it", async () => {
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "http://localhost:3000" },
      { origin: "http://127.0.0.1:7778" },
      { origin: "null" },
      { origin: "not a url" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:3000" },
      { "sec-fetch-site": "cross-site", origin: `http://${host}` },
    ] as ReadonlyArray<Record<string, string>>) {
      expect([headers, await statusOf({ host, ...headers })]).toEqual([headers, 403])
    }
  })

  test("for programs, for a person's own request, and for a page of this origin is accepted", async () => {
    for (const headers of [
      {},
      { "sec-fetch-site": "none" },
      { "sec-fetch-site": "same-origin", origin: `http://${host}` },
      { origin: `http://${host}` },
      { "sec-fetch-mode": "cors" },
    ] as ReadonlyArray<Record<string, string>>) {
      expect([headers, await statusOf({ host, ...headers })]).toEqual([headers, 200])
    }
  })

  test("on an address that others can reach, by any name, is rejected for pages of other origins too", async () => {
    const anywhere = { host: "kubereel.kubereel.svc:7777" }
    expect(await statusOf(anywhere, "export", "any")).toBe(200)
    expect(await statusOf({ ...anywhere, origin: "https://evil.example" }, "export", "any")).toBe(403)
  })
})

test("names are checked on loopback addresses, and everywhere if any are configured", async () => {
  const asked = (settings: { allowAnonymous: boolean; allowedHosts?: ReadonlyArray<string> }, host: string) =>
    Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const access = yield* openAccess(
            { auth: "none", ...settings },
            {
              host,
              credentials: {
                endpoint: () => Promise.reject(new Error("not asked")),
                onUnauthorized: async () => undefined,
                defaultNamespace: "default",
              },
              userAgent: "test",
              clock: new ManualClock(),
              trouble: () => undefined,
              recovered: () => undefined,
            },
          )
          return (yield* Effect.promise(() => access.decide({ host: "recorder.example" }, "export"))).tag
        }),
      ),
    )
  expect(await asked({ allowAnonymous: false }, "127.0.0.1")).toBe("refused")
  expect(await asked({ allowAnonymous: false, allowedHosts: ["recorder.example"] }, "127.0.0.1")).toBe("allowed")
  expect(await asked({ allowAnonymous: true }, "127.0.0.1")).toBe("refused")
  expect(await asked({ allowAnonymous: true }, "0.0.0.0")).toBe("allowed")
  expect(await asked({ allowAnonymous: true, allowedHosts: ["other.example"] }, "0.0.0.0")).toBe("refused")
  expect(await asked({ allowAnonymous: true }, "recorder.example")).toBe("allowed")
})
