import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { readStatus, readStatusObject, statusOfResponse } from "../../src/kube/status.ts"
import { recordedAnswer } from "./recorded-answer.ts"

const statusOf = (name: string) => {
  const { status, headers, body } = recordedAnswer(name)
  return statusOfResponse(status, headers, body)
}

describe("a status", () => {
  test("is read from the responses of a real API server", () => {
    expect(statusOf("forbidden-list")).toEqual({
      code: 403,
      reason: "Forbidden",
      message: `pods is forbidden: User "system:serviceaccount:default:reader" cannot list resource "pods" in API group "" at the cluster scope`,
      causes: [],
      retryAfterSeconds: undefined,
    })
    expect(statusOf("unauthorized")).toMatchObject({ code: 401, reason: "Unauthorized" })
    expect(statusOf("list-exact-expired")).toMatchObject({ code: 410, reason: "Expired" })
    expect(statusOf("list-rv-exact-future")).toEqual({
      code: 504,
      reason: "Timeout",
      message: "Timeout: Too large resource version: 99999999, current: 495",
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    })
    expect(statusOf("write-create-invalid").causes[1]).toEqual({
      reason: "FieldValueRequired",
      message: "Required value",
      field: "spec.template.spec.containers",
    })
    expect(statusOf("unknown-group")).toMatchObject({ code: 404, reason: "NotFound", message: "404 page not found" })
  })

  test("is read from the object of an ERROR event", () => {
    const object = { kind: "Status", message: "too old resource version: 250 (498)", reason: "Expired", code: 410 }
    expect(readStatusObject(object)).toMatchObject({ code: 410, reason: "Expired", message: object.message })
    expect(readStatusObject({ ...object, kind: "Pod" })).toBeUndefined()
  })

  test.each([
    ["its reason, if that is all there is", { reason: "Gone" }, { code: 410, reason: "Gone", message: "Gone" }],
    ["500, if there is nothing", {}, { code: 500, reason: "InternalError" }],
    ["500, if its code is invalid", { code: 99, reason: "New" }, { code: 500, reason: "New" }],
  ])("without a code has that of %s", (_name, fields, expected) => {
    expect(readStatusObject({ kind: "Status", ...fields })).toMatchObject(expected)
  })

  test("has a proxy's text, without its markup", () => {
    const page =
      "<html><head><title>502 Bad Gateway</title><style>a{}</style></head>\n<body><center><h1>nginx</h1></center></body></html>"
    expect(statusOfResponse(502, new Map(), page).message).toBe("502 Bad Gateway nginx")
    expect(statusOfResponse(503, new Map(), "upstream\r\n\u001b[31mdown\n")).toMatchObject({
      reason: "ServiceUnavailable",
      message: "upstream [31mdown",
    })
    expect(statusOfResponse(418, new Map(), "").message).toBe("HTTP status 418")
    expect(statusOfResponse(429, new Map(), "").message).toBe("HTTP status 429 (TooManyRequests)")
    expect(statusOfResponse(500, new Map(), "long ".repeat(1000)).message).toHaveLength(500)
  })

  test.each([
    ["3", undefined, 3],
    ["0", undefined, undefined],
    ["-1", undefined, undefined],
    ["99999999999", undefined, 86_400],
    ["Sat, 21 Nov 2026 09:26:30 GMT", "Sat, 21 Nov 2026 09:26:20 GMT", 10],
    ["Sat, 21 Nov 2026 09:26:10 GMT", "Sat, 21 Nov 2026 09:26:20 GMT", undefined],
    ["Sat, 21 Nov 2026 09:26:30 GMT", undefined, undefined],
    ["soon", undefined, undefined],
  ])("with Retry-After %j (Date %j) waits %j s", (retryAfter, date, expected) => {
    const headers = new Map([["retry-after", retryAfter]])
    if (date !== undefined) headers.set("date", date)
    expect(statusOfResponse(429, headers, "").retryAfterSeconds).toBe(expected)
  })

  test("prefers the wait in the body", () => {
    const body = JSON.stringify({ kind: "Status", details: { retryAfterSeconds: 2 } })
    expect(statusOfResponse(429, new Map([["retry-after", "9"]]), body).retryAfterSeconds).toBe(2)
  })

  test("is read from any JSON and any bytes without an exception, complete and on one line", () => {
    const fields = fc.dictionary(fc.constantFrom("code", "reason", "message", "details", "metadata"), fc.jsonValue())
    const object = fields.map((value) => ({ ...value, kind: "Status" }))
    const body = fc.oneof(
      fc.uint8Array(),
      fc.json().map((json) => Buffer.from(json)),
      object.map((value) => Buffer.from(JSON.stringify(value))),
    )
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), body, (code, bytes) => {
        const status = statusOfResponse(code, new Map(), bytes)
        expect(status.code).toBeGreaterThanOrEqual(100)
        expect(status.code).toBeLessThan(600)
        expect(status.message).toMatch(/^[^\r\n]+$/)
        expect(typeof status.reason).toBe("string")
      }),
    )
    fc.assert(fc.property(fc.anything(), (value) => readStatusObject(value)?.message !== ""))
    const causes = { kind: "Status", details: { causes: [null, 3, { reason: 7 }, { reason: "A", field: "f" }] } }
    expect(readStatus(JSON.stringify(causes))?.causes).toEqual([{ reason: "" }, { reason: "A", field: "f" }])
  })
})
