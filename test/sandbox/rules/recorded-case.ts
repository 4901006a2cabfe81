/** Stored responses of the real server: values that differ from run to run are replaced by fixed ones. */

export type Json = Record<string, unknown>

export interface RecordedCase {
  readonly name: string
  /** HTTP status. */
  readonly status: number
  /** The object that was replaced; only of updates. */
  readonly old?: Json
  /** The object as the server would store it, or a Status. */
  readonly answer: Json
}

export const uid = "00000000-0000-4000-8000-000000000001"
export const time = "2026-01-01T00:00:00Z"
/** The placeholders for the address and the node ports that the server chose. */
export const clusterIp = "10.0.0.99"
export const firstNodePort = 30_000
export const suffix = "xxxxx"

export const recordingFile = (path: string): string => `${path.replaceAll("/", "-")}.json`

const long = /(x{200})x+/g

/** `known`: another uid of the same object. */
export const normalised = (body: Json, known?: string): Json => {
  const metadata = body.metadata as Json
  delete metadata.managedFields
  delete metadata.resourceVersion
  const created = metadata.creationTimestamp
  const own =
    known ?? metadata.uid ?? /controller-uid":"([-0-9a-f]{36})"/.exec(JSON.stringify(body).replaceAll("\\", ""))?.[1]
  const address = (body.spec as Json | undefined)?.clusterIP
  let text = JSON.stringify(body)
  if (typeof own === "string") text = text.replaceAll(own, uid)
  if (typeof created === "string")
    text = text.replaceAll(`"creationTimestamp":"${created}"`, `"creationTimestamp":"${time}"`)
  if (typeof address === "string" && address !== "None" && address !== "")
    text = text.replaceAll(`"${address}"`, `"${clusterIp}"`)
  let port = firstNodePort
  text = text
    .replace(/"nodePort":3\d{4}/g, () => `"nodePort":${port++}`)
    .replace(/"lastTransitionTime":"[^"]*"/g, `"lastTransitionTime":"${time}"`)
    .replace(/"lastPhaseTransitionTime":"[^"]*"/g, `"lastPhaseTransitionTime":"${time}"`)
    .replace(/Web-[a-z0-9]{5}/g, `Web-${suffix}`)
    .replace(/kube-api-access-[a-z0-9]{5}/g, `kube-api-access-${suffix}`)
    .replace(long, "$1…")
  return JSON.parse(text) as Json
}
