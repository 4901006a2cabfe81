/**
 * Parses the paths of the API. Knows only the shape of paths; whether the group or the resource exists is up to the
 * registry.
 */

/** The pages of health, which differ in their checks. */
export type HealthPage = "healthz" | "livez" | "readyz"

export type Route =
  | { readonly type: "version" | "metrics" | "swagger" | "coreVersions" | "groups" | "unknown" }
  /** `check`: of one check; empty for all. */
  | { readonly type: "health"; readonly page: HealthPage; readonly check: string }
  /** Not a path: a broken escape. */
  | { readonly type: "malformed" }
  | { readonly type: "group"; readonly group: string }
  | { readonly type: "resources"; readonly group: string; readonly version: string }
  /** Below `/openapi/v3/`; empty for the index. */
  | { readonly type: "openapi"; readonly document: string }
  | ResourceRoute

export interface ResourceRoute {
  readonly type: "resource"
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Absent for cluster-scoped paths. */
  readonly namespace?: string
  /** Absent for collections. */
  readonly name?: string
  /** Contains slashes if the path is deeper than any of the API. */
  readonly subresource?: string
  /** A path below `watch/`, as in the first API versions: a watch without `watch=1` in the query. */
  readonly isWatch?: true
}

const unknown: Route = { type: "unknown" }

export const parseRoute = (path: string): Route => {
  const segments = decode(path)
  if (segments === undefined) return { type: "malformed" }
  const [root, ...rest] = segments
  switch (root) {
    case "version":
      return rest.length === 0 ? { type: "version" } : unknown
    case "healthz":
    case "livez":
    case "readyz":
      return { type: "health", page: root, check: rest.join("/") }
    case "metrics":
      return rest.length === 0 ? { type: "metrics" } : unknown
    case "openapi":
      if (rest.length === 1 && rest[0] === "v2") return { type: "swagger" }
      return rest[0] === "v3" ? { type: "openapi", document: rest.slice(1).join("/") } : unknown
    case "api":
      return rest[0] === undefined ? { type: "coreVersions" } : inVersion("", rest[0], rest.slice(1))
    case "apis": {
      const [group, version, ...resource] = rest
      if (group === undefined) return { type: "groups" }
      return version === undefined ? { type: "group", group } : inVersion(group, version, resource)
    }
    default:
      return unknown
  }
}

const inVersion = (group: string, version: string, path: ReadonlyArray<string>): Route => {
  if (path[0] === undefined) return { type: "resources", group, version }
  if (path[0] !== "watch" || path[1] === undefined) return inResources(group, version, path)
  return { ...inResources(group, version, path.slice(1)), isWatch: true }
}

const inResources = (group: string, version: string, path: ReadonlyArray<string>): ResourceRoute => {
  const [first = "", second, third, ...rest] = path
  // `namespaces/x/status` is a subresource of a Namespace; `namespaces/x/pods` is a collection inside it.
  if (first === "namespaces" && second !== undefined && third !== undefined && !ofNamespace.has(third)) {
    const [name, subresource, ...tail] = rest
    return resource({ group, version, plural: third, namespace: second }, name, subresource, tail)
  }
  return resource({ group, version, plural: first }, second, third, rest)
}

const ofNamespace = new Set(["status", "finalize"])

const resource = (
  base: Omit<ResourceRoute, "type" | "name" | "subresource">,
  name: string | undefined,
  subresource: string | undefined,
  tail: ReadonlyArray<string>,
): ResourceRoute => ({
  type: "resource",
  ...base,
  ...(name === undefined ? {} : { name }),
  ...(subresource === undefined ? {} : { subresource: [subresource, ...tail].join("/") }),
})

/**
 * A trailing slash is ignored. An escaped slash is a slash: Go splits paths after decoding them. `undefined` for a broken
 * escape.
 */
const decode = (path: string): ReadonlyArray<string> | undefined => {
  if (/%(?![0-9a-fA-F]{2})/.test(path)) return undefined
  const segments = (path.includes("%") ? decoded(path) : path).split("/")
  if (segments.length > 1 && segments.at(-1) === "") segments.pop()
  segments.shift()
  return segments
}

/** Unlike decodeURIComponent, this accepts bytes that are not UTF-8. */
const decoded = (path: string): string => new URLSearchParams(`p=${path.replace(/[+&]/g, escaped)}`).get("p") ?? path

const escaped = (character: string): string => (character === "+" ? "%2B" : "%26")
