/** Who wrote which version of which object, according to the API server's audit log with the responses in it (level RequestResponse). */
import { readFile } from "node:fs/promises"

/** A write that succeeded. */
export interface AuditedWriter {
  /** The field manager that the API server derives: `fieldManager` of the request, else its User-Agent up to the first slash. */
  readonly manager: string
  /** Such as `status` or `scale`; empty for the object itself. */
  readonly subresource: string
  readonly verb: string
}

/** The policy that writes such a log: only writes, with what the server returned. */
export const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: RequestResponse, omitManagedFields: true, verbs: [create, update, patch, delete]}
  - {level: None}
`

interface AuditEntry {
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly objectRef?: { readonly subresource?: string }
  readonly responseStatus?: { readonly code: number }
  readonly responseObject?: {
    readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string }
  }
}

/** The writer of each version, by `uid version`. A write that changed nothing returned a version that another wrote, so the first counts. */
export const auditedWriters = async (file: string): Promise<ReadonlyMap<string, AuditedWriter>> => {
  const writers = new Map<string, AuditedWriter>()
  const lines = (await readFile(file, "utf8")).split("\n")
  // The last line may be half written.
  for (const line of lines.slice(0, -1)) {
    const {
      verb,
      requestURI,
      userAgent = "",
      objectRef,
      responseStatus,
      responseObject,
    } = JSON.parse(line) as AuditEntry
    const { uid, resourceVersion } = responseObject?.metadata ?? {}
    if (uid === undefined || resourceVersion === undefined || (responseStatus?.code ?? 500) >= 300) continue
    const named = new URL(requestURI, "http://audited").searchParams.get("fieldManager")
    const manager = named ?? userAgent.split("/")[0] ?? ""
    const version = `${uid} ${resourceVersion}`
    if (!writers.has(version)) writers.set(version, { manager, subresource: objectRef?.subresource ?? "", verb })
  }
  return writers
}
