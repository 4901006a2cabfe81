/**
 * The rights that a module's file asks for, in the form of rules of a Role. The host does not read them: `reel k8s --host` prints the roles that
 * grant them, because what WebAssembly will ask for cannot be seen in its code.
 */
import type { Node } from "yaml"
import type { ModuleYaml } from "./module-yaml.ts"

/** A rule of a Role in `namespace`; without a namespace, of a ClusterRole. */
export interface ModulePermission {
  readonly namespace?: string
  /** `""` is the core group. */
  readonly apiGroups: ReadonlyArray<string>
  /** `pods`, `pods/status`. */
  readonly resources: ReadonlyArray<string>
  /** Absent: objects of all names. */
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

const keys = ["namespace", "apiGroups", "resources", "resourceNames", "verbs"] as const

/** `undefined` if `node` is no list. Every mistake is noted in `yaml`; an item with one is left out. */
export const readPermissions = (
  yaml: ModuleYaml,
  node: Node | undefined,
): ReadonlyArray<ModulePermission> | undefined =>
  yaml.list(node, "permissions", "a list of rules with apiGroups, resources and verbs")?.flatMap((item, index) => {
    const where = `permissions[${index}]`
    const entries = yaml.mapping(item, where, keys)
    if (entries === undefined) return []
    const texts = (key: "apiGroups" | "resources" | "resourceNames" | "verbs", allowed: string, pattern: RegExp) => {
      const name = `${where}.${key}`
      const list = yaml.list(entries.get(key)?.value, name, "a list")
      // An empty list would grant nothing, and one of resourceNames everything.
      if (list?.length === 0) return yaml.missing(name, `list at least one, or leave out the rule`, item)
      const read = list?.map((one, at) =>
        yaml.text(one, `${name}[${at}]`, allowed, (text) => (pattern.test(text) ? text : undefined)),
      )
      return read?.every((one) => one !== undefined) ? read : undefined
    }
    const required = (key: "apiGroups" | "resources" | "verbs", allowed: string, pattern: RegExp, example: string) =>
      entries.has(key) ? texts(key, allowed, pattern) : yaml.missing(`${where}.${key}`, example, item)
    const namespace = entries.has("namespace")
      ? yaml.text(entries.get("namespace")?.value, `${where}.namespace`, "the name of a namespace", (text) =>
          namespacePattern.test(text) ? text : undefined,
        )
      : undefined
    const apiGroups = required("apiGroups", groups, groupPattern, `name the groups, such as [apps], or [""] for Pods`)
    const resources = required("resources", plurals, resourcePattern, "name resources, such as [pods]")
    const verbs = required("verbs", "a verb such as list, or *", verbPattern, "name verbs, such as [list, watch]")
    const resourceNames = entries.has("resourceNames") ? texts("resourceNames", "a name", namePattern) : undefined
    if (apiGroups === undefined || resources === undefined || verbs === undefined) return []
    return [
      {
        ...(namespace !== undefined && { namespace }),
        apiGroups,
        resources,
        ...(resourceNames !== undefined && { resourceNames }),
        verbs,
      },
    ]
  })

const groups = 'an API group such as apps, "" for the core group, or *'
const plurals = "a resource in the plural, such as pods or pods/status, or *"

const namespacePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const groupPattern = /^(?:\*|[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)?$/
const resourcePattern = /^(?:\*|[a-z][a-z0-9.-]*)(?:\/(?:\*|[a-z][a-z0-9-]*))?$/
const verbPattern = /^(?:\*|[a-z]+)$/
const namePattern = /^[^\s/]+$/
