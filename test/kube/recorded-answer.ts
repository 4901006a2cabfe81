import { readFileSync } from "node:fs"

/** A complete HTTP response of a real API server (kube-apiserver 1.34.4), without chunked framing. */
export interface RecordedAnswer {
  readonly status: number
  /** Names in lower case; without the transfer coding. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** Reads `answers/<name>.http`. */
export const recordedAnswer = (name: string): RecordedAnswer => {
  const bytes = readFileSync(new URL(`answers/${name}.http`, import.meta.url))
  const text = bytes.toString("latin1")
  const [separator] = /\r?\n\r?\n/.exec(text) ?? [""]
  const headEnd = text.indexOf(separator)
  const [first = "", ...lines] = text.slice(0, headEnd).split(/\r?\n/)
  const fields = lines.map(
    (line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const,
  )
  const headers = new Map(fields.filter(([field]) => field !== "transfer-encoding"))
  return { status: Number(first.split(" ")[1]), headers, body: bytes.subarray(headEnd + separator.length) }
}
