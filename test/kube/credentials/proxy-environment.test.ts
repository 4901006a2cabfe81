import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { proxyFromEnvironment } from "../../../src/kube/credentials/credentials.ts"

const proxyOf = (server: string, environment: Record<string, string>): string | undefined =>
  proxyFromEnvironment(new URL(server), environment)?.url

describe("the proxy of the environment", () => {
  test.each([
    ["https://api:6443", { HTTPS_PROXY: "http://p:1" }, "http://p:1"],
    ["https://api:6443", { https_proxy: "p:1" }, "http://p:1"],
    ["https://api:6443", { HTTPS_PROXY: "http://upper", https_proxy: "http://lower" }, "http://upper"],
    ["https://api:6443", { HTTPS_PROXY: "" }, undefined],
    ["https://api:6443", { HTTP_PROXY: "http://p:1" }, undefined],
    ["http://api:8080", { HTTP_PROXY: "http://p:1" }, "http://p:1"],
    ["http://api:8080", { HTTPS_PROXY: "http://p:1" }, undefined],
    ["https://api:6443", {}, undefined],
  ])("for %s and %j is %j", (server, environment, expected) => {
    expect(proxyOf(server, environment as Record<string, string>)).toBe(expected)
  })

  test("names the variable it comes from", () => {
    expect(proxyFromEnvironment(new URL("https://api"), { https_proxy: "http://p" })?.variable).toBe("https_proxy")
  })

  test.each(["https://localhost:6443", "https://127.0.0.1:6443", "https://127.9.9.9", "https://[::1]:6443"])(
    "is not used for %s, which would be the proxy itself",
    (server) => {
      expect(proxyOf(server, { HTTPS_PROXY: "http://p" })).toBeUndefined()
    },
  )

  // From the documentation of Go's httpproxy.Config.NoProxy.
  test.each<[string, string, boolean]>([
    ["api.example.com", "https://api.example.com", true],
    ["example.com", "https://api.example.com", true],
    ["example.com", "https://example.com", true],
    ["example.com", "https://notexample.com", false],
    [".example.com", "https://api.example.com", true],
    [".example.com", "https://example.com", false],
    ["*.example.com", "https://api.example.com", true],
    ["*.example.com", "https://example.com", false],
    ["EXAMPLE.com", "https://API.example.COM", true],
    ["example.com:6443", "https://api.example.com:6443", true],
    ["example.com:6443", "https://api.example.com", false],
    ["example.com:443", "https://api.example.com", true],
    ["other, example.com ,more", "https://example.com", true],
    ["*", "https://anything", true],
    ["", "https://anything", false],
    [",", "https://anything", false],
    ["10.1.2.3", "https://10.1.2.3:6443", true],
    ["10.1.2.3:6443", "https://10.1.2.3:6443", true],
    ["10.1.2.3:1", "https://10.1.2.3:6443", false],
    ["1.2.3", "https://10.1.2.3", false],
    ["10.0.0.0/8", "https://10.1.2.3:6443", true],
    ["10.0.0.0/8", "https://11.1.2.3:6443", false],
    ["10.0.0.0/8", "https://ten.example.com", false],
    ["10.0.0.0/99", "https://10.1.2.3", false],
    ["fd00::/8", "https://[fd00::1]:6443", true],
    ["fd00::/8", "https://10.1.2.3", false],
    ["fd00::1", "https://[fd00::1]:6443", true],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
    ["[fd00::1]:1", "https://[fd00::1]:6443", false],
  ])("with NO_PROXY=%s for %s: exempt is %s", (list, server, isExempt) => {
    const expected = isExempt ? undefined : "http://p"
    expect(proxyOf(server, { HTTPS_PROXY: "http://p", NO_PROXY: list })).toBe(expected)
    expect(proxyOf(server, { HTTPS_PROXY: "http://p", no_proxy: list })).toBe(expected)
  })

  test("is read from any environment without an exception", () => {
    const entry = fc.oneof(fc.string(), fc.constantFrom("::/", "[", "[]:", ":1", "1.2.3.4/", "a/b", "*.", "1.2.3.4/-1"))
    fc.assert(
      fc.property(entry, fc.constantFrom("https://a.b:1", "https://[fd00::1]", "https://10.0.0.1"), (list, server) => {
        expect([undefined, "http://p"]).toContain(proxyOf(server, { HTTPS_PROXY: "p", NO_PROXY: list }))
      }),
    )
  })
})
