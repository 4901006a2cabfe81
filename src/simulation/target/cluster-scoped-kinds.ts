/** The cluster-scoped kinds of a server that can be listed and deleted, each once, in the version that the server prefers. */
import { type ApiConnection, bodyOf, type Call } from "../../kube/client/api-connection.ts"
import { ApiUnreachableError } from "../../kube/client/api-errors.ts"
import type { Kind } from "../../kube/kind.ts"
import { messageOf } from "../../message-of.ts"

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

/** What a server told about its kinds. */
export interface ServedKinds {
  readonly served: ReadonlyArray<Kind>
  /** Group versions whose kinds are not known, such as those of an aggregated API whose server is down, and why. */
  readonly failures: ReadonlyMap<string, string>
}

/** Rejects with the ApiError of the request for the groups, or for the core group. */
export const clusterScopedKinds = async (connection: ApiConnection, signal: AbortSignal): Promise<ServedKinds> => {
  const { groups = [] } = await read<GroupList>(connection, "/apis", signal)
  const versions = groups.flatMap(({ preferredVersion }) => preferredVersion?.groupVersion ?? [])
  const failures = new Map<string, string>()
  const core = "/api/v1"
  const lists = await Promise.all(
    [core, ...versions.map((groupVersion) => `/apis/${groupVersion}`)].map(async (path) => {
      try {
        return { path, list: await read<ResourceList>(connection, path, signal) }
      } catch (error) {
        if (path === core) throw error
        failures.set(path, messageOf(error))
        return { path, list: {} as ResourceList }
      }
    }),
  )
  const served = lists.flatMap(({ path, list: { resources = [] } }) =>
    resources
      .filter(({ name, namespaced, verbs = [] }) => !name.includes("/") && !namespaced && isRemovable(verbs))
      .map(({ name, kind }) => ({ gvk: { ...groupVersionOf(path), kind }, plural: name, namespaced: false })),
  )
  return { served, failures }
}

const isRemovable = (verbs: ReadonlyArray<string>): boolean => verbs.includes("list") && verbs.includes("delete")

const groupVersionOf = (path: string): { readonly group: string; readonly version: string } => {
  const [, , first = "", second] = path.split("/")
  return second === undefined ? { group: "", version: first } : { group: first, version: second }
}

const read = async <T>(connection: ApiConnection, path: string, signal: AbortSignal): Promise<T> => {
  const call: Call = { question: { verb: "get", kind: path, namespace: "", name: "" }, method: "GET", path }
  const body = bodyOf<T | null>(call, await connection.call(call, { signal }))
  if (body !== null) return body
  throw new ApiUnreachableError({ ...call.question, failure: "unreadable", detail: "the response is null" })
}
