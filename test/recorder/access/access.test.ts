import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { DecisionCache } from "../../../src/kube/index.ts"
import { presentedToken, tokenForm } from "../../../src/recorder/access/access.ts"
import { isLoopback } from "../../../src/recorder/access/open-access.ts"

describe("the token of a request", () => {
  test("is in Authorization, or in our own header, which is read first", () => {
    expect(presentedToken({ authorization: "Bearer abc.def" })).toEqual({ tag: "token", token: "abc.def" })
    expect(presentedToken({ authorization: "bearer   abc=" })).toEqual({ tag: "token", token: "abc=" })
    const both = { authorization: "Bearer proxy", "kubereel-authorization": "Bearer own" }
    expect(presentedToken(both)).toEqual({ tag: "token", token: "own" })
  })

  test("if missing or malformed, is a 401 that says how to send one, and never quotes what was sent", () => {
    const refused = (headers: Record<string, string>) => {
      const presented = presentedToken(headers)
      if (presented.tag !== "refused") throw new Error(`${JSON.stringify(headers)} was taken`)
      expect(presented.refusal.status).toBe(401)
      return presented.refusal.message
    }
    expect(refused({})).toContain("Authorization: Bearer TOKEN")
    for (const header of ["hush", "Basic hush", "Bearer", "Bearer ", "Bearer hush hush", "Bearer hush, Bearer hush"]) {
      expect(refused({ authorization: header })).toBe("the header Authorization must have the form Bearer TOKEN")
      expect(refused({ "kubereel-authorization": header, authorization: "Bearer good" })).toBe(
        "the header Kubereel-Authorization must have the form Bearer TOKEN",
      )
    }
  })

  test("is returned as it was sent, or not at all", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        const presented = presentedToken({ authorization: `Bearer ${text}` })
        if (tokenForm.test(text)) expect(presented).toEqual({ tag: "token", token: text })
        else if (presented.tag === "token") expect(text.trim()).toBe(presented.token)
      }),
    )
  })
})

test.each([
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["::1", true],
  ["0:0:0:0:0:0:0:1", true],
  ["::ffff:127.0.0.1", true],
  ["localhost", true],
  ["LocalHost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["128.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["localhost.example.com", false],
  ["127.0.0.1.example.com", false],
])("%s is a loopback address: %s", (host, expected) => {
  expect(isLoopback(host)).toBe(expected)
})

test("decisions expire, and their number is bounded", () => {
  let nowMs = 0
  const cache = new DecisionCache<string>({ monotonicMs: () => nowMs }, 2)
  cache.set("a", "yes", 100)
  cache.set("b", "no", 10)
  nowMs = 9
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual(["yes", "no", undefined])
  nowMs = 10
  expect([cache.get("a"), cache.get("b")]).toEqual(["yes", undefined])
  cache.set("c", "yes", 100)
  cache.set("d", "yes", 100)
  expect([cache.get("a"), cache.get("c"), cache.get("d")]).toEqual([undefined, "yes", "yes"])
})
