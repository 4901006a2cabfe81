/** What `reel convert` reads of an OTLP endpoint: its address, and headers and compression in the variables that OpenTelemetry's exporters use. */
import type { EndpointCompression } from "../../trace/files/otlp-endpoint.ts"
import type { DescribedName } from "../command-line/arguments.ts"

/** Of each, the first that is set counts. */
const HEADER_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"]
const COMPRESSION_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"]

/** For the help of the command. */
export const endpointVariables: readonly DescribedName[] = [
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "headers for an OTLP endpoint, as NAME=VALUE,NAME=VALUE; OTEL_EXPORTER_OTLP_TRACES_HEADERS takes precedence",
  ],
  [
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "compression of requests to an OTLP endpoint: gzip, or none (default); OTEL_EXPORTER_OTLP_TRACES_COMPRESSION takes precedence",
  ],
]

/** Whether an output is the address of an endpoint and not a file. */
export const isEndpoint = (output: string): boolean => /^https?:\/\//i.test(output)

/** What is wrong with the address; `undefined`: nothing. */
export const problemOfEndpoint = (output: string): string | undefined => {
  if (!URL.canParse(output)) return "the address of the endpoint is not a URL"
  const { username, password } = new URL(output)
  // The address is in messages, which are in logs.
  if (username !== "" || password !== "")
    return "the address of the endpoint contains credentials; put them in OTEL_EXPORTER_OTLP_HEADERS"
  return undefined
}

/** A header: its name and its value. */
export type EndpointHeader = readonly [name: string, value: string]

/** How requests are sent, or what is wrong with that in words that do not quote headers: they may be secret. */
export type EndpointSettings =
  | {
      readonly _tag: "Settings"
      readonly headers: ReadonlyArray<EndpointHeader>
      readonly compression: EndpointCompression
    }
  | { readonly _tag: "BadEndpoint"; readonly problem: string }

type Environment = Readonly<Record<string, string | undefined>>

/** What the environment says. */
export const endpointSettings = (environment: Environment): EndpointSettings => {
  const headers = headersIn(environment)
  if (typeof headers === "string") return { _tag: "BadEndpoint", problem: headers }
  const { name, value: compression } = firstSet(COMPRESSION_VARIABLES, environment) ?? { name: "", value: "none" }
  if (compression !== "gzip" && compression !== "none")
    return { _tag: "BadEndpoint", problem: `${name}: must be gzip or none` }
  return { _tag: "Settings", headers, compression }
}

const firstSet = (names: ReadonlyArray<string>, environment: Environment) =>
  names.map((name) => ({ name, value: environment[name] ?? "" })).find(({ value }) => value !== "")

/** W3C baggage without properties, values percent-encoded. A problem is a text. */
const headersIn = (environment: Environment): ReadonlyArray<EndpointHeader> | string => {
  const set = firstSet(HEADER_VARIABLES, environment)
  if (set === undefined) return []
  const headers: EndpointHeader[] = []
  const entries = set.value.split(",")
  for (const [index, entry] of entries.entries()) {
    if (entry.trim() === "") continue
    const header = headerIn(entry)
    if (header === undefined)
      return `${set.name}: entry ${index + 1} of ${entries.length} is not NAME=VALUE with a value in percent-encoding`
    headers.push(header)
  }
  return headers
}

const headerIn = (entry: string): EndpointHeader | undefined => {
  const equals = entry.indexOf("=")
  if (equals === -1) return undefined
  try {
    const name = decodeURIComponent(entry.slice(0, equals).trim())
    const value = decodeURIComponent(entry.slice(equals + 1).trim())
    // Throws for what no header can be.
    new Headers([[name, value]])
    return [name, value]
  } catch {
    // decodeURIComponent and Headers have no other errors than that the text is wrong.
    return undefined
  }
}
