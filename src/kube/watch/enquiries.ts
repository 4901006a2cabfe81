/**
 * The one-off requests around a watch, over HTTP: whether the kind is installed, and the server's current version.
 */
import { isRecord } from "../../is-record.ts"
import { type ApiResource, discover } from "../discovery/discovery.ts"
import { describeFailure, requestOnce } from "../http/request-once.ts"
import type { ReadTransport } from "../http/transport.ts"
import { collectionPath, type GroupVersionKind } from "../kinds/gvk.ts"
import { type ApiStatus, plainStatus, statusOfResponse } from "../status.ts"
import type { Input } from "./protocol/protocol.ts"
import type { Enquiries } from "./session-options.ts"
import { probePath, type Selection } from "./streams/request.ts"

/** The UID of this namespace is the closest thing a cluster has to an identity. */
const clusterIdentityPath = "/api/v1/namespaces/kube-system"

export class HttpEnquiries implements Enquiries {
  readonly #client: ReadTransport
  readonly #gvk: GroupVersionKind
  readonly #namespace: string | undefined
  readonly #located: ((resource: ApiResource) => void) | undefined

  /**
   * `namespace`: request only within it, so that a Role suffices; no effect on cluster-scoped kinds. `located` is called each time the kind
   * is found, before `discover` resolves.
   */
  constructor(
    client: ReadTransport,
    gvk: GroupVersionKind,
    namespace: string | undefined,
    located?: (resource: ApiResource) => void,
  ) {
    this.#client = client
    this.#gvk = gvk
    this.#namespace = namespace
    this.#located = located
  }

  async discover(found: (path: string) => void): Promise<Input> {
    const outcome = await discover(this.#client, this.#gvk)
    if (outcome.tag === "absent") return { type: "not-installed" }
    if (outcome.tag === "unreachable") return { type: "discovery-failed", status: unreachable(outcome.detail) }
    if (outcome.tag === "failed") return { type: "discovery-failed", status: outcome.status }
    found(collectionPath(outcome.resource, this.#namespace))
    this.#located?.(outcome.resource)
    return { type: "discovered", clusterUid: await clusterUid(this.#client) }
  }

  async probe(selection: Selection): Promise<Input> {
    const list = await requestOnce(this.#client, probePath(selection))
    if (list.tag !== "response") return { type: "probe-failed", status: unreachable(describeFailure(list)) }
    if (list.status !== 200)
      return { type: "probe-failed", status: statusOfResponse(list.status, list.headers, list.body) }
    const version = metadataOf(list.body)?.resourceVersion
    if (version === undefined) {
      return { type: "probe-failed", status: unreachable("the response to a list has no metadata.resourceVersion") }
    }
    return { type: "probed", version, clusterUid: await clusterUid(this.#client) }
  }
}

/** UID of namespace kube-system; `undefined` if reading it is not permitted: then only versions can reveal a changed cluster. */
export const clusterUid = async (client: ReadTransport): Promise<string | undefined> => {
  const answer = await requestOnce(client, clusterIdentityPath)
  return answer.tag === "response" && answer.status === 200 ? metadataOf(answer.body)?.uid : undefined
}

const metadataOf = (body: Buffer): { readonly resourceVersion?: string; readonly uid?: string } | undefined => {
  try {
    const parsed: unknown = JSON.parse(body.toString("utf8"))
    return isRecord(parsed) && isRecord(parsed.metadata) ? parsed.metadata : undefined
  } catch {
    // A body that is not JSON is treated like one without metadata, which the caller reports.
    return undefined
  }
}

/** A failure below HTTP. */
const unreachable = (message: string): ApiStatus => plainStatus(0, "Unreachable", message)
