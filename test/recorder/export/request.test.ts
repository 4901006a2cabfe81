/** The body of `POST /export`: every mistake is a 400 that names it, and nothing is ignored. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ExportRequest, filtersOf, readExportRequest } from "../../../src/recorder/export/request.ts"

const good = {
  start_ts: 0,
  end_ts: 10,
  export_path: "file:///export",
  filters: { excluded_namespaces: [], excluded_labels: [] },
}

const refusal = (body: unknown): string => {
  const reading = readExportRequest(typeof body === "string" ? body : JSON.stringify(body))
  if (reading.tag !== "refused") throw new Error(`${JSON.stringify(body)} was taken`)
  expect(reading.status).toBe(400)
  expect(reading.message.split("\n")).toHaveLength(1)
  return reading.message
}

const fields = Object.keys(ExportRequest.fields)
const filters = Object.keys(ExportRequest.fields.filters.fields)

describe("an export request", () => {
  test("of SimKube's client is read", () => {
    expect(readExportRequest(JSON.stringify(good))).toMatchObject({ tag: "request", destination: { tag: "answer" } })
  })

  test.each(fields)("with a %s of another type is rejected, naming it", (field) => {
    for (const wrong of [null, true, 7.5, {}, [[]], "\u0000"]) {
      const request = { ...good, [field]: wrong }
      // Valid values are not mistakes.
      if (field === "dry_run" && wrong === true) continue
      if (["export_path", "transform"].includes(field) && typeof wrong === "string") continue
      const message = refusal(request)
      expect(message).toContain(`["${field}"]`)
    }
  })

  test.each(filters)("with a filter %s of another type is rejected, naming it", (field) => {
    for (const wrong of [null, 7, {}, "shop"]) {
      expect(refusal({ ...good, filters: { ...good.filters, [field]: wrong } })).toContain(`["filters"]["${field}"]`)
    }
  })

  test.each(["start_ts", "end_ts", "export_path", "filters"])("without %s is rejected, naming it", (field) => {
    const { [field as "filters"]: _, ...rest } = good
    expect(refusal(rest)).toBe(`not an export request: Missing key at ["${field}"]`)
  })

  test("for unsanitised objects is rejected in replay formats", () => {
    for (const format of ["simkube", "kwok"]) {
      expect(refusal({ ...good, format, sanitise: "none" })).toContain(`for the format ${format}`)
      expect(readExportRequest(JSON.stringify({ ...good, format, sanitise: "replay" }))).toMatchObject({
        tag: "request",
      })
    }
    expect(readExportRequest(JSON.stringify({ ...good, format: "ndjson", sanitise: "none" })).tag).toBe("request")
  })

  test("with an unknown field is rejected by its name, at any depth", () => {
    expect(refusal({ ...good, excluded_namespaces: [] })).toContain('["excluded_namespaces"]')
    expect(refusal({ ...good, filters: { ...good.filters, exclude_namespaces: ["a"] } })).toContain(
      '["filters"]["exclude_namespaces"]',
    )
    const selector = (value: unknown) => ({ ...good, filters: { ...good.filters, excluded_labels: [value] } })
    expect(refusal(selector({ matchLabel: { app: "web" } }))).toMatch(/^excluded_labels\[0\]: .*matchLabel/)
    const expression = { key: "app", operator: "Exists", vales: [] }
    expect(refusal(selector({ matchExpressions: [expression] }))).toMatch(/^excluded_labels\[0\]: .*vales/)
  })

  test("with countless mistakes is rejected in a line of bounded length", () => {
    const many = Object.fromEntries(
      Array.from({ length: 90 }, (_, index) => [`field-${"x".repeat(100)}-${index}`, index]),
    )
    expect(refusal({ ...good, ...many }).length).toBeLessThan(2100)
  })

  test.each(["", "{", "null", "[]", "7", '"{}"', "[".repeat(100_000), `${JSON.stringify(good)}x`])(
    "that is no object of JSON is refused: %j",
    (body) => {
      refusal(body)
    },
  )

  test("whose window ends before it begins is rejected, in either notation", () => {
    expect(refusal({ ...good, start_ts: 10, end_ts: 9 })).toBe(
      "the window ends at 9000000 µs, before it starts at 10000000 µs",
    )
    expect(refusal({ ...good, start_time: 10, end_time: 9 })).toContain(
      "the window ends at 9 µs, before it starts at 10",
    )
    expect(refusal({ ...good, start_ts: Number.MAX_SAFE_INTEGER, end_ts: Number.MIN_SAFE_INTEGER })).toContain("ends")
  })

  test("with an invalid selector is rejected, quoting it", () => {
    const labels = (excluded_labels: unknown[]) => ({ ...good, filters: { ...good.filters, excluded_labels } })
    expect(refusal(labels(["app=web", "tier in ("]))).toMatch(/^excluded_labels\[1\]: "tier in \(": /)
    expect(refusal({ ...good, filters: { ...good.filters, labels: [7] } })).toMatch(/^labels\[0\]: /)
  })

  test("is read without throwing, for any content", () => {
    const request = fc.record(
      Object.fromEntries(fields.map((field) => [field, fc.oneof(fc.jsonValue(), fc.integer(), fc.constant([]))])),
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          request.map((value) => JSON.stringify(value)),
        ),
        (body) => {
          expect(["request", "refused"]).toContain(readExportRequest(body).tag)
        },
      ),
    )
  })
})

test("a window without length contains nothing, with any filters", () => {
  const read = (more: object) => {
    const reading = readExportRequest(JSON.stringify({ ...good, ...more }))
    if (reading.tag !== "request") throw new Error(reading.message)
    return filtersOf(reading.request)
  }
  const given = { ...good.filters, namespaces: ["*"] }
  expect(read({ filters: given })).toEqual(given)
  expect(read({ filters: given, start_time: 5, end_time: 5 }).namespaces).toEqual(["/"])
})
