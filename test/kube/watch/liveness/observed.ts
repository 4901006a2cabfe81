/** Objects as a watch brings them, for tests of their timing. */
import { compileDetectRules } from "../../../../src/kube/scanner/object/detect-rules.ts"
import { ObjectScanner } from "../../../../src/kube/scanner/object/object-scanner.ts"
import { ObservedObject } from "../../../../src/kube/watch/liveness/observed-object.ts"

const rules = compileDetectRules({ gvk: { group: "", version: "v1", kind: "ConfigMap" }, detect: "all", ignore: [] })

export const secondsText = (ms: number): string =>
  `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`

export interface Written {
  readonly version?: number
  /** Default "u". */
  readonly uid?: string
  readonly action?: 1 | 2
  /** ms since the Unix epoch of the last write; absent: the object has no times. */
  readonly writtenMs?: number | undefined
  /** What the manager of the last write has; default one field. */
  readonly fields?: object
  readonly metadata?: object
}

export const observed = ({
  version = 1,
  uid = "u",
  action = 1,
  writtenMs,
  fields,
  metadata = {},
}: Written): ObservedObject => {
  const managedFields =
    writtenMs === undefined
      ? undefined
      : [
          {
            manager: "old",
            operation: "Update",
            time: secondsText(writtenMs - 86_400_000),
            fieldsV1: { "f:time": {} },
          },
          {
            manager: "kubectl",
            operation: "Apply",
            time: secondsText(writtenMs),
            fieldsV1: fields ?? { "f:data": {} },
          },
        ]
  const object = { metadata: { name: "a", uid, resourceVersion: String(version), managedFields, ...metadata } }
  const bytes = Buffer.from(JSON.stringify(object))
  const scanner = new ObjectScanner(rules)
  if (!scanner.scan(bytes, 0, bytes.length)) throw new Error("the object cannot be scanned")
  const result = new ObservedObject(scanner)
  result.action = action
  result.version = version
  result.bytes = bytes
  result.end = bytes.length
  return result
}
