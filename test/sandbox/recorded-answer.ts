/** Responses of a real API server (Kubernetes 1.34.4), and their comparison with ours. */

import { readFileSync } from "node:fs"
import type { Answer } from "./client.ts"
import { withoutWording } from "./without-wording.ts"

export interface RecordedAnswer {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export const recordedAnswer = (name: string): RecordedAnswer => {
  const file = readFileSync(new URL(`../data/apiserver/${name}.http`, import.meta.url), "utf8").replaceAll("\r\n", "\n")
  const border = file.indexOf("\n\n")
  const [statusLine = "", ...headerLines] = file.slice(0, border).split("\n")
  const headers = headerLines.map((line) => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const
  })
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(headers),
    text: file.slice(border + 2),
  }
}

/** The headers that a client may depend on. */
const shared = ["content-type", "cache-control", "retry-after", "x-content-type-options"]

/** Status, headers and body as values, for `toEqual`; JSON bodies parsed and without wording, others without their last line feed. */
export const comparable = (answer: RecordedAnswer | Answer): unknown => {
  const headers = shared.map((name) => [name, answer.headers[name]])
  const json = answer.headers["content-type"] === "application/json"
  const body: unknown = json ? withoutWording(JSON.parse(answer.text)) : answer.text.trimEnd()
  return { status: answer.status, headers: Object.fromEntries(headers), body }
}

/** The type of every leaf, with the keys in their order: equal for two responses with different contents. */
export const shape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])]
  if (value === null || typeof value !== "object") return typeof value
  return Object.entries(value).map(([key, member]) => [key, shape(member)])
}
