/** The cluster-scoped kinds of a server that can be listed and deleted, each once, in the version that the server prefers. */
import { type ApiConnection, bodyOf, type Call } from "../../kube/client/api-connection.ts"
import { ApiUnreachableError } from "../../kube/client/api-errors.ts"
import type { Kind } from "../../kube/kind.ts"

interface GroupList {
  readonly groups?: ReadonlyArray<{ readonly preferredVersion?: { readonly groupVersion?: string } }>
}

interface ResourceList {
  readonly resources?: ReadonlyArray<{
    readonly name: string
    readonly kind: string
    readonly namespaced: boolean
    readonly verbs?: ReadonlyArray<string>
  }>
}

/**
 * Rejects with the ApiError of a request. A group whose aggregated server does not respond with 200 is an error too: what it serves cannot
 * be known to be clean.
 */
export const clusterScopedKinds = async (connection: ApiConnection): Promise<ReadonlyArray<Kind>> => {
  const { groups = [] } = await read<GroupList>(connection, "/apis")
  const versions = groups.flatMap(({ preferredVersion }) => preferredVersion?.groupVersion ?? [])
  const paths = ["/api/v1", ...versions.map((groupVersion) => `/apis/${groupVersion}`)]
  const lists = await Promise.all(
    paths.map(async (path) => ({ path, list: await read<ResourceList>(connection, path) })),
  )
  return lists.flatMap(({ path, list: { resources = [] } }) =>
    resources
      .filter(({ name, namespaced, verbs = [] }) => !name.includes("/") && !namespaced && isRemovable(verbs))
      .map(({ name, kind }) => ({ gvk: { ...groupVersionOf(path), kind }, plural: name, namespaced: false })),
  )
}

const isRemovable = (verbs: ReadonlyArray<string>): boolean => verbs.includes("list") && verbs.includes("delete")

const groupVersionOf = (path: string): { readonly group: string; readonly version: string } => {
  const [, , first = "", second] = path.split("/")
  return second === undefined ? { group: "", version: first } : { group: first, version: second }
}

const read = async <T>(connection: ApiConnection, path: string): Promise<T> => {
  const call: Call = { question: { verb: "get", kind: path, namespace: "", name: "" }, method: "GET", path }
  const body = bodyOf<T | null>(call, await connection.call(call))
  if (body !== null) return body
  throw new ApiUnreachableError({ ...call.question, failure: "unreadable", detail: "the response is null" })
}
