/** Endpoints and their headers, as users name them. */
import { expect, test } from "vitest"
import { endpointSettings, isEndpoint, problemOfEndpoint } from "../../../src/cli/convert.ts"

test("an output is an endpoint if it is an address of HTTP", () => {
  for (const output of ["http://collector:4318/v1/traces", "HTTPS://x"]) expect(isEndpoint(output)).toBe(true)
  for (const output of ["http", "a.otlp.json", "-", "/http://x", "ftp://x"]) expect(isEndpoint(output)).toBe(false)
  expect(problemOfEndpoint("http://collector:4318/v1/traces")).toBeUndefined()
  expect(problemOfEndpoint("http://")).toContain("not a URL")
  expect(problemOfEndpoint("http://me:secret@collector/")).toMatch(/OTEL_EXPORTER_OTLP_HEADERS/)
})

test("headers are those of OpenTelemetry's variables, percent-decoded; those for traces take precedence", () => {
  expect(endpointSettings({})).toEqual({ _tag: "Settings", headers: [], compression: "none" })
  const OTEL_EXPORTER_OTLP_HEADERS = " authorization=Basic%20YTpi== , x-tenant = shop,"
  expect(endpointSettings({ OTEL_EXPORTER_OTLP_HEADERS })).toEqual({
    _tag: "Settings",
    compression: "none",
    headers: [
      ["authorization", "Basic YTpi=="],
      ["x-tenant", "shop"],
    ],
  })
  expect(endpointSettings({ OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_TRACES_HEADERS: "a=b" })).toEqual({
    _tag: "Settings",
    compression: "none",
    headers: [["a", "b"]],
  })
})

test("headers that are wrong are named by their position, and not quoted", () => {
  for (const value of ["a=b,s3cret", "a=b,s 3cret=x", "a=b,x=%zzs3cret", "a=b,x=s3cret%0a1", "a=b,=s3cret"]) {
    const read = endpointSettings({ OTEL_EXPORTER_OTLP_HEADERS: value })
    expect(read).toMatchObject({ _tag: "BadEndpoint", problem: expect.stringContaining("entry 2 of 2") })
    expect(JSON.stringify(read)).not.toContain("3cret")
  }
})

test("requests are compressed if a variable asks for it, and a compression that is not known is a problem", () => {
  const compressionOf = (environment: Record<string, string>) => {
    const settings = endpointSettings(environment)
    return settings._tag === "Settings" ? settings.compression : settings.problem
  }
  const [some, traces] = ["OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"]
  expect(compressionOf({ [some]: "gzip" })).toBe("gzip")
  expect(compressionOf({ [some]: "gzip", [traces]: "none" })).toBe("none")
  expect(compressionOf({ [some]: "zstd" })).toBe("OTEL_EXPORTER_OTLP_COMPRESSION: must be gzip or none")
})
