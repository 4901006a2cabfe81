/**
 * Which group versions another server provides behind the API server: metrics, and API servers of projects' own. Their lists may differ from
 * what the API server itself promises.
 */
import { isRecord } from "../../is-record.ts"
import { apiVersionOf, type GroupVersionKind } from "../gvk.ts"
import { type RequestOptions, requestOnce } from "../http/request-once.ts"
import type { ReadTransport } from "../http/transport.ts"

const path = "/apis/apiregistration.k8s.io/v1/apiservices"

/**
 * The aggregated group versions, as `metrics.k8s.io/v1beta1`. `undefined` if the server does not say: the user may not list APIServices, or there is
 * no complete response in time. One request; never rejects.
 */
export const aggregatedApis = async (
  client: ReadTransport,
  options: RequestOptions,
): Promise<ReadonlySet<string> | undefined> => {
  const answer = await requestOnce(client, path, options)
  return answer.tag === "response" && answer.status === 200 ? readApiServices(answer.body) : undefined
}

/** Whether the server of this kind is one of them. */
export const isAggregated = (apis: ReadonlySet<string>, gvk: GroupVersionKind): boolean => apis.has(apiVersionOf(gvk))

/** An APIService names a Service unless the API server itself, or a CustomResourceDefinition, provides the API. */
const readApiServices = (body: Buffer): ReadonlySet<string> | undefined => {
  let list: unknown
  try {
    list = JSON.parse(body.toString("utf8"))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  if (!isRecord(list) || !Array.isArray(list.items)) return undefined
  const specs = list.items.map((item: unknown) => (isRecord(item) && isRecord(item.spec) ? item.spec : {}))
  return new Set(
    specs.flatMap(({ service, group, version }) => (isRecord(service) ? [`${String(group)}/${String(version)}`] : [])),
  )
}
