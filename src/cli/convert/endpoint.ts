/** What `reel convert` reads of an OTLP endpoint: its address, and the headers for it in the variables that OpenTelemetry's exporters use. */
import type { DescribedName } from "../command-line/arguments.ts"

/** Variables with headers; the first that is set counts. */
const HEADER_VARIABLES = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"] as const

/** For the help of the command. */
export const endpointVariables: readonly DescribedName[] = [
  [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "headers for an OTLP endpoint, as NAME=VALUE,NAME=VALUE; OTEL_EXPORTER_OTLP_TRACES_HEADERS takes precedence",
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

/** Headers, or what is wrong with the endpoint in words that do not quote them: they may be secret. */
export type EndpointHeaders =
  | { readonly _tag: "Headers"; readonly headers: ReadonlyArray<EndpointHeader> }
  | { readonly _tag: "BadEndpoint"; readonly problem: string }

/** The headers of the environment: W3C baggage without properties, values percent-encoded. */
export const endpointHeaders = (environment: Readonly<Record<string, string | undefined>>): EndpointHeaders => {
  const variable = HEADER_VARIABLES.find((name) => (environment[name] ?? "") !== "")
  if (variable === undefined) return { _tag: "Headers", headers: [] }
  const headers: EndpointHeader[] = []
  const entries = (environment[variable] ?? "").split(",")
  for (const [index, entry] of entries.entries()) {
    if (entry.trim() === "") continue
    const header = headerIn(entry)
    if (header === undefined) {
      const problem = `${variable}: entry ${index + 1} of ${entries.length} is not NAME=VALUE with a value in percent-encoding`
      return { _tag: "BadEndpoint", problem }
    }
    headers.push(header)
  }
  return { _tag: "Headers", headers }
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
