/** Audit events as an API server writes them, by hand. */
import type { JsonObject } from "../../src/trace/index.ts"

/** µs since the Unix epoch of the first moment of the logs in these tests. */
export const begin = Date.UTC(2026, 2, 1, 12) * 1000

/** `seconds` after {@link begin}, as an API server writes it. */
export const instant = (seconds: number): string => {
  const micros = begin + Math.round(seconds * 1_000_000)
  const second = new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19)
  return `${second}.${String(micros % 1_000_000).padStart(6, "0")}Z`
}

export interface EventFacts {
  /** Seconds after {@link begin}. */
  readonly at?: number
  readonly verb?: string
  readonly level?: string
  readonly stage?: string
  /** `pods`, or `apps/v1 deployments`. */
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly code?: number
  readonly query?: string
  readonly request?: JsonObject
  readonly response?: JsonObject
  readonly annotations?: JsonObject
}

/** The members are in the order of Kubernetes' own type. */
export const auditEvent = ({
  at = 0,
  verb = "update",
  level = "RequestResponse",
  stage = "ResponseComplete",
  resource: given = "configmaps",
  subresource,
  namespace = "shop",
  name = "web",
  code = 200,
  query = "",
  request,
  response,
  annotations,
}: EventFacts): JsonObject => {
  const [groupVersion = "v1", resource = given] = given.includes(" ") ? given.split(" ") : ["v1", given]
  const [apiGroup, apiVersion = groupVersion] = groupVersion.includes("/") ? groupVersion.split("/") : []
  const place = `${namespace === "" ? "" : `/namespaces/${namespace}`}/${resource}${name === "" ? "" : `/${name}`}`
  return {
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level,
    auditID: "3b9e3a10-6b1f-4f0c-9a86-8d3a0c2f6d11",
    stage,
    requestURI: `/api/v1${place}${subresource === undefined ? "" : `/${subresource}`}${query}`,
    verb,
    user: { username: "admin" },
    objectRef: {
      resource,
      ...(namespace !== "" && { namespace }),
      ...(name !== "" && { name }),
      ...(apiGroup !== undefined && { apiGroup }),
      apiVersion,
      ...(subresource !== undefined && { subresource }),
    },
    responseStatus: { metadata: {}, code },
    ...(request !== undefined && { requestObject: request }),
    ...(response !== undefined && { responseObject: response }),
    requestReceivedTimestamp: instant(at - 0.01),
    stageTimestamp: instant(at),
    ...(annotations !== undefined && { annotations }),
  }
}

interface GivenObject {
  readonly metadata?: { readonly [member: string]: unknown }
  readonly [member: string]: unknown
}

/** An object as a server returns it; a member that is `undefined` is left out. */
export const stored = (
  apiVersion: string,
  kind: string,
  version: number,
  { metadata = {}, ...rest }: GivenObject = {},
): JsonObject =>
  JSON.parse(
    JSON.stringify({
      ...{ apiVersion, kind },
      metadata: { name: "web", namespace: "shop", uid: "u1", resourceVersion: String(version), ...metadata },
      ...rest,
    }),
  )

export const configMap = (version: number, data: JsonObject = {}, metadata: JsonObject = {}): JsonObject =>
  stored("v1", "ConfigMap", version, { metadata, data })

/** The response to the deletion of what is gone at once. */
export const success = (uid = "u1"): JsonObject => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  details: { name: "web", kind: "configmaps", uid },
})
