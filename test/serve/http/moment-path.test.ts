import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { momentIn, pathOfMoment } from "../../../src/serve/http/moment-path.ts"

describe("A path with a moment", () => {
  test.each([
    ["/at/03:12/api/v1/pods?limit=5", "03:12", "/api/v1/pods?limit=5"],
    ["/at/03:12", "03:12", "/"],
    ["/at/03:12?timeout=32s", "03:12", "/?timeout=32s"],
    ["/at/2026-11-20T03:20:00+01:00/api", "2026-11-20T03:20:00+01:00", "/api"],
    ["/at/yesterday%2003:12/api", "yesterday 03:12", "/api"],
    ["/at/%zz/api", "%zz", "/api"],
  ])("%s", (url, moment, rest) => {
    expect(momentIn(url)).toEqual({ moment, rest })
  })

  test.each(["/api/v1/pods", "/", "/at", "/at/", "/attic/03:12/api"])("is not %s", (url) => {
    expect(momentIn(url)).toBeUndefined()
  })

  test("is made for any text that a person may write, and read back", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "grapheme" }), (moment) => {
        // No one can write these two: in a URL they mean the path above.
        fc.pre(moment.isWellFormed() && moment !== "." && moment !== "..")
        const path = pathOfMoment(moment)
        expect(momentIn(`${path}/api`)).toEqual({ moment, rest: "/api" })
        expect(new URL(`http://127.0.0.1:8001${path}`).pathname).toBe(path)
      }),
    )
  })
})
