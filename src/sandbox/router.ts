/**
 * Paths of the API, taken apart. Knows the shape of paths only; whether the group or the resource exists is the
 * registry's to say.
 */

export type Route =
  | { readonly type: "version" | "health" | "coreVersions" | "groups" | "unknown" }
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
  readonly subresource?: string
}

const unknown: Route = { type: "unknown" }

export const parseRoute = (path: string): Route => {
  const segments = decode(path)
  const [root, ...rest] = segments ?? []
  switch (root) {
    case "version":
      return rest.length === 0 ? { type: "version" } : unknown
    case "healthz":
    case "livez":
    case "readyz":
      return rest.length === 0 ? { type: "health" } : unknown
    case "openapi":
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
  const [first, second, third, ...rest] = path
  if (first === undefined) return { type: "resources", group, version }
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
): Route =>
  tail.length > 0
    ? unknown
    : {
        type: "resource",
        ...base,
        ...(name === undefined ? {} : { name }),
        ...(subresource === undefined ? {} : { subresource }),
      }

/** A trailing slash counts for nothing; a broken escape makes the path unknown. */
const decode = (path: string): ReadonlyArray<string> | undefined => {
  try {
    const segments = path.split("/")
    if (segments.length > 1 && segments.at(-1) === "") segments.pop()
    segments.shift()
    return path.includes("%") ? segments.map(decodeURIComponent) : segments
  } catch {
    // URIError: such a path names nothing.
    return undefined
  }
}
