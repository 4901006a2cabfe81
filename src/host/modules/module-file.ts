/**
 * The YAML of one module: what it is called, which ABI it speaks, its environment, as whom it acts, and what it may take.
 *
 * Guaranteed: never throws; all mistakes of a file are returned together, each with its line; unknown and repeated keys are mistakes, because
 * a misspelt limit would be none. The page for users is docs/reference/modules.md.
 */
import * as Result from "effect/Result"
import type { Node } from "yaml"
import { parseDuration } from "../../kube/index.ts"
import { quantityOf } from "../../kube/offline.ts"
import type { ModuleFileProblem } from "./module-problem.ts"
import { type Entry, ModuleYaml } from "./module-yaml.ts"

/** The ABIs of WebAssembly modules. */
const abis = ["rust_v1alpha1"] as const
type Abi = (typeof abis)[number]

export interface ModuleFile {
  /** A DNS label. Names the module in logs and metrics, and is its field manager. */
  readonly name: string
  /** Required for a WebAssembly module; of no meaning for others. */
  readonly abi?: Abi
  /** In the order of the file; each name once. */
  readonly env: ReadonlyArray<{ readonly name: string; readonly value: string }>
  /** Default: the identity of the host. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
  /** What its account may, for `reel k8s --host`; absent: nothing is known. For a script, in addition to what its controllers declare. */
  readonly permissions?: ReadonlyArray<ModulePermission>
  /** It keeps a checkpoint, and so misses no deletion while it does not run. Absent: it keeps none; a script's controllers decide by themselves. */
  readonly checkpoint?: true
  /** What is absent has the host's defaults. */
  readonly limits: ModuleFileLimits
}

interface ModuleFileLimits {
  /** Largest linear memory in bytes. */
  readonly memoryBytes?: number
  /** Longest time of one wake-up in ms. */
  readonly deadlineMs?: number
  /** Of the module's requests, as in `ModuleLimits` of the executor. */
  readonly requestsPerSecond?: number
  readonly burst?: number
  readonly maximumConcurrent?: number
  readonly timeoutMs?: number
}

/** Bytes of linear memory that a module may have if its file says nothing else. */
export const defaultMemoryBytes = 256 * 1024 * 1024

const rootKeys = ["name", "abi", "env", "serviceAccount", "permissions", "checkpoint", "limits"] as const
const limitKeys = ["memory", "deadline", "requestsPerSecond", "burst", "concurrentRequests", "requestTimeout"] as const

/** The module's file, or everything that is wrong with it, in the order of the file. */
export const parseModuleFile = (bytes: Uint8Array): Result.Result<ModuleFile, ReadonlyArray<ModuleFileProblem>> => {
  const yaml = new ModuleYaml(bytes)
  const file = yaml.problems.length > 0 ? undefined : readFile(yaml)
  if (file !== undefined && yaml.problems.length === 0) return Result.succeed(file)
  return Result.fail(yaml.problems.toSorted((left, right) => left.line - right.line || left.column - right.column))
}

const readFile = (yaml: ModuleYaml): ModuleFile | undefined => {
  const root = yaml.mapping(yaml.root, "the file", rootKeys)
  if (root === undefined) return undefined
  const name = root.has("name")
    ? yaml.text(root.get("name")?.value, "name", dnsLabel, labelOf)
    : yaml.missing("name", "add name: and a name such as simple-pod")
  const abi = present(root, "abi", (node) =>
    yaml.text(node, "abi", `one of ${abis.join(", ")}`, (text) => abis.find((one) => one === text)),
  )
  const env = present(root, "env", (node) => readEnvironment(yaml, node)) ?? []
  const serviceAccount = present(root, "serviceAccount", (node) => readServiceAccount(yaml, node))
  const permissions = present(root, "permissions", (node) => readPermissions(yaml, node))
  const keeps = present(root, "checkpoint", (node) => yaml.text(node, "checkpoint", "true or false", booleanOf))
  const checkpoint = keeps === "true" ? true : undefined
  const limits = present(root, "limits", (node) => readLimits(yaml, node)) ?? {}
  if (name === undefined) return undefined
  return { name, ...defined({ abi, serviceAccount, permissions, checkpoint }), env, limits }
}

const readEnvironment = (yaml: ModuleYaml, node: Node | undefined): ModuleFile["env"] | undefined => {
  const firstLines = new Map<string, number>()
  return yaml.list(node, "env", "a list of name and value")?.flatMap((item, index) => {
    const where = `env[${index}]`
    const entries = yaml.mapping(item, where, ["name", "value"])
    if (entries === undefined) return []
    const nameNode = entries.get("name")?.value
    const name = entries.has("name")
      ? yaml.text(nameNode, `${where}.name`, "a name without = and control characters", variableOf)
      : yaml.missing(`${where}.name`, "name the variable", item)
    const value = entries.has("value")
      ? yaml.text(entries.get("value")?.value, `${where}.value`, "text without a zero byte", zeroFree)
      : yaml.missing(`${where}.value`, 'write value: "" for an empty one', item)
    if (name === undefined || value === undefined) return []
    const firstLine = firstLines.get(name)
    const position = yaml.positionOf(nameNode)
    if (firstLine !== undefined)
      yaml.problems.push({ _tag: "DuplicateKey", ...position, key: `the variable ${name}`, firstLine })
    else firstLines.set(name, position.line)
    return [{ name, value }]
  })
}

const readServiceAccount = (yaml: ModuleYaml, node: Node | undefined): ModuleFile["serviceAccount"] => {
  const entries = yaml.mapping(node, "serviceAccount", ["namespace", "name"])
  if (entries === undefined) return undefined
  const read = (key: "namespace" | "name", allowed: string, check: (text: string) => string | undefined) =>
    entries.has(key)
      ? yaml.text(entries.get(key)?.value, `serviceAccount.${key}`, allowed, check)
      : yaml.missing(`serviceAccount.${key}`, "name both the namespace and the ServiceAccount", node)
  const namespace = read("namespace", dnsLabel, labelOf)
  const name = read("name", "a name of a ServiceAccount: a DNS subdomain", subdomainOf)
  return namespace === undefined || name === undefined ? undefined : { namespace, name }
}

const readLimits = (yaml: ModuleYaml, node: Node | undefined): ModuleFileLimits | undefined => {
  const entries = yaml.mapping(node, "limits", limitKeys)
  if (entries === undefined) return undefined
  const read = (key: (typeof limitKeys)[number], allowed: string, check: (text: string) => number | undefined) =>
    present(entries, key, (value) => yaml.text(value, `limits.${key}`, allowed, check))
  const duration = "a duration such as 500ms or 30s, of at least 1 ms"
  return defined({
    memoryBytes: read("memory", "a quantity such as 64Mi, from 64Ki to 4Gi", memoryOf),
    deadlineMs: read("deadline", duration, durationOf),
    requestsPerSecond: read("requestsPerSecond", "a number above 0 and at most 10000", rateOf),
    burst: read("burst", "a whole number from 1 to 10000", wholeOf),
    maximumConcurrent: read("concurrentRequests", "a whole number from 1 to 10000", wholeOf),
    timeoutMs: read("requestTimeout", duration, durationOf),
  })
}

/** `undefined` without noting a mistake if the key is absent. */
const present = <Key extends string, Value>(
  entries: ReadonlyMap<Key, Entry>,
  key: Key,
  read: (node: Node | undefined) => Value | undefined,
): Value | undefined => {
  const entry = entries.get(key)
  return entry === undefined ? undefined : read(entry.value)
}

/** Without the members that are `undefined`. */
const defined = <Members extends object>(
  members: Members,
): { readonly [Key in keyof Members]?: NonNullable<Members[Key]> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Key in keyof Members]?: NonNullable<Members[Key]>
  }

const dnsLabel = "a DNS label: at most 63 of a to z, 0 to 9 and -, beginning and ending with a letter or digit"
const labelOf = (text: string): string | undefined =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) ? text : undefined
const booleanOf = (text: string): "true" | "false" | undefined =>
  text === "true" || text === "false" ? text : undefined
const subdomainOf = (text: string): string | undefined =>
  text.length <= 253 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/.test(text)
    ? text
    : undefined
const zeroFree = (text: string): string | undefined => (text.includes("\0") ? undefined : text)
const variableOf = (text: string): string | undefined => (/^[^=\p{Cc}]+$/u.test(text) ? text : undefined)

/** A page of WebAssembly is 64 KiB, and its addresses have 32 bits. */
const memoryOf = (text: string): number | undefined => within(quantityOf(text), 64 * 1024, 2 ** 32, Math.ceil)
const durationOf = (text: string): number | undefined => within(parseDuration(text), 1, 2 ** 53, Math.ceil)
const wholeOf = (text: string): number | undefined =>
  /^\d{1,5}$/.test(text) ? within(Number(text), 1, 10_000, Number) : undefined
const rateOf = (text: string): number | undefined =>
  /^\d+(?:\.\d+)?$/.test(text) ? within(Number(text), Number.MIN_VALUE, 10_000, Number) : undefined

const within = (
  value: number | undefined,
  least: number,
  most: number,
  round: (value: number) => number,
): number | undefined => (value !== undefined && value >= least && value <= most ? round(value) : undefined)

/**
 * A rule of a Role in `namespace`; without a namespace, of a ClusterRole. The host does not read them: `reel k8s --host` prints the roles that
 * grant them, because what WebAssembly will ask for cannot be seen in its code.
 */
interface ModulePermission {
  readonly namespace?: string
  /** `""` is the core group. */
  readonly apiGroups: ReadonlyArray<string>
  /** `pods`, `pods/status`. */
  readonly resources: ReadonlyArray<string>
  /** Absent: objects of all names. */
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

const permissionKeys = ["namespace", "apiGroups", "resources", "resourceNames", "verbs"] as const

/** `undefined` if `node` is no list. Every mistake is noted in `yaml`; an item with one is left out. */
const readPermissions = (yaml: ModuleYaml, node: Node | undefined): ReadonlyArray<ModulePermission> | undefined =>
  yaml.list(node, "permissions", "a list of rules with apiGroups, resources and verbs")?.flatMap((item, index) => {
    const where = `permissions[${index}]`
    const entries = yaml.mapping(item, where, permissionKeys)
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
