import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkRequest, guestResponse } from "../../../src/host/executor/guest-request.ts"
import { requestText } from "../../../src/kube/http/http-client.ts"
import { parseTarget, type Target } from "../../../src/kube/http/target.ts"
import { rounds } from "../../harness/effort.ts"
import { guestRequest, statusOf } from "./requests.ts"

const checked = (...given: Parameters<typeof guestRequest>) => checkRequest(guestRequest(...given), 100)

const refusal = (...given: Parameters<typeof guestRequest>): string => {
  const result = checked(...given)
  return "refusal" in result ? statusOf(result.refusal) : "accepted"
}

describe("A request of a module", () => {
  test.each([
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods?",
    "/apis/apps/v1/deployments?limit=500&continue=a%2Fb%3D&watch=false",
    "/api/v1/pods?watch=0&fieldSelector=metadata.name%3D..",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
    "/openapi/v3/",
    "/",
    "/api/v1/namespaces/watch/pods",
  ])("for %s passes", (uri) => {
    expect(refusal("GET", uri)).toBe("accepted")
  })

  test.each([
    ["http://evil.example/api", "must begin with /"],
    ["api/v1/pods", "must begin with /"],
    ["", "must begin with /"],
    ["//evil.example/api", "an empty segment"],
    ["/api/v1/../../secrets", "a segment . or .."],
    ["/api/v1/%2e%2E/secrets", "a segment . or .."],
    ["/api/v1/./pods", "a segment . or .."],
    ["/api/v1/a%2f..%2fb", "an encoded slash"],
    ["/api/v1/a%5cb", "an encoded slash, backslash"],
    ["/api/v1/a\\b", "backslash"],
    ["/api/v1/a%0d%0ab", "control character"],
    ["/api/v1/%zz", "an invalid escape"],
    ["/api/v1/%ff", "an invalid escape"],
    ["/api/v1/pods HTTP/1.1\r\nImpersonate-User: admin", "must be encoded"],
    ["/api/v1/pods#x", "must be encoded"],
    ["/api/v1/pöds", "must be encoded"],
    ["/api/v1/pods?watch=1", "is a watch"],
    ["/api/v1/pods?limit=1&watch", "is a watch"],
    ["/api/v1/pods?%77atch=TRUE", "is a watch"],
    ["/api/v1/watch/pods", "is a watch"],
    ["/apis/apps/v1/w%61tch/deployments", "is a watch"],
    ["/api/v1/namespaces/a/pods/b/log?follow=true", "follows a log"],
  ])("for %j is refused as 400", (uri, reason) => {
    expect(refusal("GET", uri)).toMatch(/^400 the URI "/)
    expect(refusal("GET", uri)).toContain(reason)
  })

  test("with a URI beyond 64 KiB is refused", () => {
    expect(refusal("GET", `/${"a".repeat(70_000)}`)).toContain("has more than 65536 characters")
  })

  test("has one of the five methods of the API, in capitals", () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) expect(refusal(method, "/api")).toBe("accepted")
    for (const method of ["get", "HEAD", "CONNECT", "TRACE", "", "GET / HTTP/1.1\r\nX:"])
      expect(refusal(method, "/api")).toMatch(/^405 the method ".*" is not one of GET, POST, PUT, PATCH, DELETE$/)
  })

  test("has a body of at most the allowed size", () => {
    expect(refusal("POST", "/api", { body: "x".repeat(100) })).toBe("accepted")
    expect(refusal("POST", "/api", { body: "x".repeat(101) })).toBe(
      "413 the body has 101 bytes; this module may send 100",
    )
  })

  test("keeps its own headers, and loses those of the connection and its credentials", () => {
    const headers = {
      Accept: ["application/json", "application/yaml"],
      "content-type": "application/merge-patch+json",
      Authorization: "Bearer stolen",
      Cookie: "a=b",
      Host: "evil.example",
      "User-Agent": "me",
      "Content-Length": "5",
      "Transfer-Encoding": "chunked",
      Connection: "close, X-Hop",
      "X-Hop": "1",
      "X-Kept": "grün",
    }
    expect(checked("PATCH", "/api", { headers, body: "{}" })).toEqual({
      request: {
        method: "PATCH",
        path: "/api",
        headers: { accept: "application/json, application/yaml", "x-kept": "grün" },
        body: Buffer.from("{}"),
        contentType: "application/merge-patch+json",
      },
    })
  })

  test.each(["Impersonate-User", "impersonate-extra-scopes", "X-Remote-User", "X-Remote-Group"])(
    "with the header %s is refused, since the module would act as itself and not know",
    (name) => {
      expect(refusal("GET", "/api", { headers: { [name]: "admin" } })).toMatch(/^403 the header/)
    },
  )

  test.each([
    ["a header that is not text", { a: Uint8Array.of(0xff) as unknown as string }],
    ["a header with a line end", { a: "1\r\nImpersonate-User: admin" }],
    ["a name with a line end", { "a: 1\r\nImpersonate-User": "admin" }],
    ["an empty name", { "": "1" }],
    ["headers beyond 64 KiB", { a: "x".repeat(40_000), b: "x".repeat(40_000) }],
  ])("with %s is refused as 400", (_, headers) => {
    expect(refusal("GET", "/api", { headers })).toMatch(/^400 /)
  })

  test("is, whatever a module sends, either refused or written as one request below the server's path", () => {
    const target = parseTarget({ server: "http://server/k8s/clusters/c-1", headers: [] }) as Target
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.stringMatching(/^(?:\/|\.|%2[eEfF]|%5c|[\r\n?#&=: a-z])*$/),
      fc.constantFrom("__proto__", "Impersonate-User", "transfer-encoding", "Content-Length"),
    )
    const names = ["__proto__", "Accept", "Authorization", "Connection", "transfer-encoding", "Content-Length", "X-A"]
    const values = fc.constantFrom("x-a, accept", "1", "application/json")
    // Mostly well-formed in each part, since one malformed part is enough for a refusal.
    const mostly = <Part>(good: fc.Arbitrary<Part>, any: fc.Arbitrary<Part>): fc.Arbitrary<Part> =>
      fc.oneof({ weight: 8, arbitrary: good }, { weight: 1, arbitrary: any })
    const bytes = (one: string): Uint8Array => Buffer.from(one)
    const header = fc.tuple(
      mostly(fc.constantFrom(...names), text),
      fc.array(mostly(values.map(bytes), fc.oneof(fc.uint8Array(), text.map(bytes))), { maxLength: 2 }),
    )
    const anyRequest = fc.record({
      method: mostly(fc.constantFrom("GET", "POST", "DELETE"), text),
      uri: mostly(fc.stringMatching(/^(?:\/[a-z.%2e:]{1,3}){1,3}(?:\?[a-z=&%]*)?$/), text),
      headers: fc.array(header, { maxLength: 4 }),
      body: fc.uint8Array(),
    })
    let accepted = 0
    fc.assert(
      fc.property(anyRequest, ({ headers, ...rest }) => {
        const result = checkRequest({ ...rest, headers: new Map(headers) }, 1000)
        if ("refusal" in result) {
          statusOf(result.refusal)
          return
        }
        accepted++
        const written = requestText(target, [["Authorization", "Bearer own"]], "kubereel-host/m", result.request)
        if (typeof written === "object" && "problem" in written) throw new Error(written.problem)
        const [head = ""] = Buffer.from(written).toString("latin1").split("\r\n\r\n")
        const [line = "", ...fields] = head.split("\r\n")
        expect(line).toMatch(/^(?:GET|POST|PUT|PATCH|DELETE) \/k8s\/clusters\/c-1\/[^ ]* HTTP\/1\.1$/)
        const path = new URL(line.split(" ")[1] ?? "", "http://server").pathname
        expect(path.startsWith("/k8s/clusters/c-1/")).toBe(true)
        const names = fields.map((field) => field.split(":", 1)[0]?.toLowerCase())
        expect(new Set(names).size).toBe(names.length)
        expect(names.filter((name) => /^(?:impersonate|x-remote|transfer-encoding)/.test(name ?? ""))).toEqual([])
        expect(fields.filter((field) => /^authorization:/i.test(field))).toEqual(["Authorization: Bearer own"])
      }),
      { numRuns: rounds(400) },
    )
    expect(accepted).toBeGreaterThan(5)
  })
})

test("A response loses the headers of its connection; the bytes of others arrive as they were", () => {
  const headers = new Map([
    ["content-type", "application/json"],
    ["transfer-encoding", "chunked"],
    ["connection", "close"],
    ["warning", "299 - \u00fc"],
  ])
  expect(guestResponse(200, headers, Buffer.from("{}"))).toEqual({
    status: 200,
    headers: new Map([
      ["content-type", [Buffer.from("application/json")]],
      ["warning", [Buffer.from([0x32, 0x39, 0x39, 0x20, 0x2d, 0x20, 0xfc])]],
    ]),
    body: Buffer.from("{}"),
  })
})
