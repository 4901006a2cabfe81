/** The same objects in protobuf and in JSON, as a real server sent them; see record-objects.ts. */

import { readFileSync } from "node:fs"
import { zstdDecompressSync } from "node:zlib"

export interface RecordedObject {
  /** `apps/v1.Deployment: replicas`. */
  readonly name: string
  /** Base64 of the whole response. */
  readonly protobuf: string
  readonly json: string
}

export const recordingFile = new URL("./recorded-objects.json.zst", import.meta.url)

export const recordedObjects = (): ReadonlyArray<RecordedObject> =>
  JSON.parse(zstdDecompressSync(readFileSync(recordingFile)).toString("utf8")) as RecordedObject[]

/**
 * Two dry runs differ in generated values: identities, times, addresses, ports, the name of the token's volume. And
 * protobuf has no kinds inside an object, while JSON has them for claim templates.
 */
export const normalised = (json: string): string =>
  JSON.stringify(JSON.parse(json))
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uid>")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "<time>")
    .replace(/kube-api-access-\w{5}/g, "kube-api-access-<suffix>")
    .replace(/\{"kind":"PersistentVolumeClaim","apiVersion":"v1",("metadata":\{"name":"data"\})/g, "{$1")
    .replace(/10\.0\.0\.\d+/g, "<address>")
    .replace(/("(?:healthCheckN|n)odePort":)\d{5}/g, '$1"<port>"')
