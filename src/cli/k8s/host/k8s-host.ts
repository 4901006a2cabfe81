/** `reel k8s --host`: arguments and printing. The manifests themselves are made in src/k8s/host. */
import { readdir, readFile } from "node:fs/promises"
import { basename, join } from "node:path"
import type { ModuleSource } from "../../../host/index.ts"
import { isRecord } from "../../../is-record.ts"
import {
  hostManifestsFor,
  type ModuleConfigMap,
  type ModulePlace,
  type Resolve,
  renderManifests,
} from "../../../k8s/index.ts"
import type { ApiResource } from "../../../kube/index.ts"
import { formatGvk } from "../../../kube/offline.ts"
import { messageOf } from "../../../message-of.ts"
import { codeOf } from "../../../trace/index.ts"
import {
  type CommandSyntax,
  flag,
  integerBetween,
  list,
  type OptionValues,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  required,
  value,
  withDefault,
} from "../../command-line/arguments.ts"
import { type Command, type CommandTerminal, command, type Say } from "../../command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "../../command-line/exit-codes.ts"
import { readVersion } from "../../command-line/version.ts"
import { documentsOf, UnusableDefinition } from "../../crd/definition-types.ts"
import { k8sOptions, parseName, parsePort, parseSize } from "../k8s-options.ts"
import { withResolver } from "../k8s-resolver.ts"
import { defaultImage, prerequisites } from "../prerequisites.ts"
import { type DirectoryNeeds, readModuleNeeds } from "./module-needs.ts"

// The files of a modules' directory as ConfigMaps: one for each module, and one for what scripts import { CommandFailed } from "../../command-line/exit-codes.ts"
// import from beside them. A module that is changed is then
// replaced without a restart of the pod; other files of the directory are left out.

/** Bytes of all values: the API server refuses more. */
const largestConfigMap = 1024 * 1024

/** What scripts import: scripts and data, but no tests and no types. */
const imported = /\.(?:[cm]?[jt]s|json)$/
const notImported = /\.(?:test|spec|d)\.[cm]?[jt]s$/

/** `name`: of the host, before each name. Rejects with CommandFailed or the error of the system. */
const moduleConfigMapsOf = async (
  directory: string,
  name: string,
  sources: ReadonlyArray<ModuleSource>,
): Promise<ReadonlyArray<ModuleConfigMap>> => {
  const maps: ModuleConfigMap[] = []
  for (const { file, path, codePath } of sources)
    maps.push(await configMapOf(`${name}-module-${file.name}`, `module ${file.name}`, [path, codePath]))
  if (sources.every(({ form }) => form === "wasm")) return maps
  const taken = new Set(sources.flatMap(({ path, codePath }) => [basename(path), basename(codePath)]))
  const others = (await readdir(directory))
    .filter((each) => imported.test(each) && !notImported.test(each) && !each.startsWith(".") && !taken.has(each))
    .sort()
  if (others.length > 0)
    maps.push(
      await configMapOf(
        `${name}-imports`,
        "what scripts may import",
        others.map((each) => join(directory, each)),
      ),
    )
  return maps
}

const configMapOf = async (name: string, subject: string, paths: ReadonlyArray<string>): Promise<ModuleConfigMap> => {
  const data: Record<string, string> = {}
  const binaryData: Record<string, string> = {}
  let bytes = 0
  for (const path of paths) {
    const file = basename(path)
    if (!/^[-._a-zA-Z0-9]{1,253}$/.test(file))
      throw new CommandFailed(
        `${JSON.stringify(file)} cannot be a key of a ConfigMap: rename it to letters, digits, -, _ and .`,
      )
    const content = await readFile(path)
    bytes += content.length
    const text = content.toString("utf8")
    if (Buffer.from(text).equals(content) && !path.endsWith(".wasm")) data[file] = text
    else binaryData[file] = content.toString("base64")
  }
  if (bytes > largestConfigMap)
    throw new CommandFailed(
      `${subject} has ${(bytes / 1e6).toFixed(1)} MB, and a ConfigMap holds 1 MiB: put the modules into an image or onto a volume ` +
        "(--modules image, --modules claim/NAME)",
    )
  return { name, data, binaryData }
}

// The options of `reel k8s --host`.

/** Where the pod has the modules from. */
type PlaceOption =
  | { readonly tag: "config-maps" }
  | { readonly tag: "image" }
  | { readonly tag: "claim"; readonly name: string }

const parsePlace = (given: string): Reading<PlaceOption> => {
  if (given === "config-maps" || given === "image") return value({ tag: given })
  const [, name] = /^claim\/(.+)$/.exec(given) ?? []
  return name !== undefined && /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)
    ? value({ tag: "claim", name })
    : refused("must be config-maps, image or claim/NAME, with the name of a PersistentVolumeClaim")
}

const { storageClass, bind, apiServerPort, monitoringNamespace, kubeconfig, context, offline } = k8sOptions

/** The options of `reel k8s --host`. */
const hostOptions = {
  host: required("DIRECTORY", "the modules, as for reel host"),
  modules: withDefault(
    "config-maps",
    "PLACE",
    "where the pod has the modules from: config-maps, image (in its directory /modules) or claim/NAME",
    parsePlace,
  ),
  state: withDefault(
    "claim",
    "PLACE",
    "where modules with a checkpoint keep it: claim (a PersistentVolumeClaim) or empty-dir, which is lost with the pod; no effect without such a module",
    oneOf("claim", "empty-dir"),
  ),
  size: withDefault("1Gi", "SIZE", "size of the checkpoints' volume; a known object takes about 400 bytes", parseSize),
  storageClass,
  crd: repeated("FILE", "CustomResourceDefinitions of kinds that the cluster does not have yet, or with --offline"),
  namespace: withDefault("kubereel-host", "-n NAME", "namespace to run the host in", parseName),
  name: withDefault(
    "kubereel-host",
    "NAME",
    "name of the Deployment, its ServiceAccount and its roles; a second host needs a different name",
    parseName,
  ),
  image: optional("-i IMAGE", "image of the host; default: kubereel:VERSION"),
  workers: withDefault("2", "NUMBER", "threads that WebAssembly modules share", integerBetween(1, 64)),
  bind,
  apiServerPort,
  egressPort: list(
    "PORT",
    "further port that scripts may reach, for the network policy, which then allows DNS too; default: none",
    parsePort,
  ),
  monitoring: flag({ help: "add a PodMonitor and a PrometheusRule" }),
  monitoringNamespace,
  kubeconfig,
  context,
  offline,
}

// The kinds that CustomResourceDefinitions define, where a cluster that has them is not at hand.

const verbs: ReadonlyArray<string> = ["get", "list", "watch", "create", "update", "patch", "delete"]

/** One for each served version. Other objects in the text are passed over. Throws {@link UnusableDefinition}. */
const definedKinds = (text: string): ReadonlyArray<ApiResource> => {
  const found = documentsOf(text)
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .flatMap(({ spec }) => (isRecord(spec) ? kindsOf(spec) : []))
  if (found.length === 0)
    throw new UnusableDefinition({ problem: "has no CustomResourceDefinition with a served version" })
  return found
}

const kindsOf = ({ group, names, scope, versions }: Readonly<Record<string, unknown>>): ReadonlyArray<ApiResource> => {
  const { kind, plural } = isRecord(names) ? names : {}
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string")
    throw new UnusableDefinition({
      problem: "has a CustomResourceDefinition without spec.group, spec.names.kind or spec.names.plural",
    })
  return (Array.isArray(versions) ? versions.filter(isRecord) : []).flatMap(({ name, served }) =>
    served === true && typeof name === "string"
      ? [{ gvk: { group, version: name, kind }, plural, namespaced: scope !== "Cluster", verbs }]
      : [],
  )
}

const syntax: CommandSyntax<typeof hostOptions> = {
  name: "reel k8s --host",
  summary:
    "Prints manifests that run the controllers of a directory in a cluster with the minimum permissions they need.",
  description: [
    "Changes nothing in the cluster: it only looks up the resource names that RBAC rules need. Scripts are loaded to see what they watch and write, but not run. " +
      "docs/guides/controllers-in-cluster.md explains the manifests.",
  ],
  options: hostOptions,
  exitCodes: {
    failed:
      "a module or a kind is missing or not valid, a ConfigMap would be too large, or the cluster cannot be reached; nothing was printed",
    incomplete: "printed, but a WebAssembly module has no permissions, so the roles have no rules for it",
  },
  examples: [
    "reel k8s --host modules --image registry.example.com/kubereel:0.1.0 | kubectl apply --server-side -f -",
    "reel k8s --host modules --crd simplepod-crd.yaml --offline",
    "reel k8s --host modules --modules image --image registry.example.com/controllers:3",
  ],
  seeAlso: ["reel host", "docs/guides/controllers-in-cluster.md"],
}

type Options = OptionValues<typeof hostOptions>

/** `kubectl apply` without `--server-side` keeps the object in an annotation, and annotations hold 256 KiB. */
const largestApplied = 256 * 1024

const defaultApiServerPorts: ReadonlyArray<number> = [443, 6443]

/** Runs in the place of `reel k8s` when `--host` is given. */
export const k8sHostCommand = (): Command => command(syntax, run)

const run = async (given: Options, { standardOutput, environment, say }: CommandTerminal): Promise<ExitCode> => {
  const defined = await resolverOf(given.crd)
  const without = "Without a cluster, --offline prints manifests for built-in kinds and those of --crd."
  const { value: needs } = await withResolver({ ...given, environment, without }, (resolve) =>
    readModuleNeeds(given.host, (gvk) => defined(gvk) ?? resolve(gvk), {
      prefix: given.name,
      service: { namespace: given.namespace, name: given.name, port: 0 },
    }),
  )
  for (const problem of needs.problems) say(problem)
  if (needs.problems.length > 0) return exitCodes.failed
  standardOutput.write(await print(given, needs, say))
  const monitoringKinds = given.monitoring ? ["PodMonitor", "PrometheusRule"] : []
  for (const sentence of prerequisites({ image: given.image, version: readVersion(), monitoringKinds })) say(sentence)
  for (const path of needs.withoutPermissions)
    say(`${path} has no permissions, so its module gets none; permissions: [] says that it needs none`)
  return needs.withoutPermissions.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

const print = async (given: Options, { sources, modules }: DirectoryNeeds, say: Say): Promise<string> => {
  const version = readVersion()
  const place: ModulePlace =
    given.modules.tag === "config-maps"
      ? { tag: "config-maps", configMaps: await moduleConfigMapsOf(given.host, given.name, sources) }
      : given.modules
  for (const { name, ...content } of place.tag === "config-maps" ? place.configMaps : [])
    if (JSON.stringify(content).length > largestApplied)
      say(`the ConfigMap ${name} is larger than 256 KiB: apply it with kubectl apply --server-side`)
  const keeping = modules.filter(({ hasCheckpoint }) => hasCheckpoint).map((each) => each.name)
  if (given.state === "empty-dir" && keeping.length > 0)
    say(
      `checkpoints of ${keeping.join(", ")} are lost with each pod: deletions from its end to the start of the next are then missed; --state claim keeps them`,
    )
  const manifests = hostManifestsFor({
    name: given.name,
    namespace: given.namespace,
    image: given.image ?? defaultImage(version),
    version,
    modules,
    place,
    state:
      given.state === "claim"
        ? { tag: "claim", size: given.size, storageClass: given.storageClass }
        : { tag: given.state, size: given.size },
    workers: given.workers,
    bind: given.bind,
    apiServerPorts: given.apiServerPort.length === 0 ? defaultApiServerPorts : given.apiServerPort,
    egressPorts: given.egressPort,
    monitoring: given.monitoring,
    monitoringNamespace: given.monitoringNamespace,
  })
  return renderManifests(
    manifests,
    `kubereel ${version}, controllers in a cluster: docs/guides/controllers-in-cluster.md`,
  )
}

/** Finds kinds in the given definitions. Rejects with {@link UnusableDefinition}. */
const resolverOf = async (files: ReadonlyArray<string>) => {
  const kinds = new Map<string, Awaited<ReturnType<Resolve>>>()
  for (const file of files)
    try {
      for (const resource of definedKinds(await readFile(file, "utf8")))
        kinds.set(formatGvk(resource.gvk), { tag: "found", resource })
    } catch (error) {
      const problem = error instanceof UnusableDefinition ? error.problem : `cannot be read: ${reasonOf(error)}`
      throw new UnusableDefinition({ problem: `${file} ${problem}` })
    }
  return (gvk: Parameters<Resolve>[0]) => {
    const found = kinds.get(formatGvk(gvk))
    return found && Promise.resolve(found)
  }
}

const reasonOf = (error: unknown): string => codeOf(error) ?? messageOf(error)
