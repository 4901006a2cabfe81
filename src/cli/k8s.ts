/** `reel k8s`: arguments and printing. What the manifests say is src/k8s. */
import { isIP } from "node:net"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { manifestsFor, permissionsFor, renderManifests, type Unresolved, watchedResources } from "../k8s/index.ts"
import { type GroupVersionKind, parseGvk } from "../kube/gvk.ts"
import { quoted } from "../tracer/configuration/quoted.ts"
import { withinNamespaces } from "../tracer/configuration/tracked-kind.ts"
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
  text,
  value,
  withDefault,
} from "./arguments.ts"
import { type Command, command } from "./command.ts"
import { type ExitCode, exitCodes } from "./exit-codes.ts"
import { readK8sConfiguration } from "./k8s-configuration.ts"
import { withResolver } from "./k8s-resolver.ts"
import type { Terminal } from "./terminal.ts"
import { readVersion } from "./version.ts"

const parseName = (given: string): Reading<string> =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(given)
    ? value(given)
    : refused("it must be a name of small letters, digits and -, at most 63")

const parseGvkOption = (given: string): Reading<GroupVersionKind> => {
  const gvk = parseGvk(given)
  return gvk === undefined ? refused("it must be a kind such as argoproj.io/v1alpha1.Rollout") : value(gvk)
}

/** Kubernetes' quantities of bytes, as people write them. */
const parseSize = (given: string): Reading<string> =>
  /^[1-9]\d{0,5}(?:[KMGTPE]i?)$/.test(given) ? value(given) : refused("it must be a size such as 10Gi or 500Mi")

const parseBlock = (given: string): Reading<string> => {
  const [address = "", length = "", ...rest] = given.split("/")
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= longest
    ? value(given)
    : refused("it must be a block of addresses such as 10.0.0.0/24 or 192.0.2.7/32")
}

const parsePort = integerBetween(1, 65_535)

const options = {
  config: optional({
    short: "c",
    placeholder: "FILE",
    help: "what to record, as for reel record; default: workloads and the lives of their pods",
    parse: text,
  }),
  namespace: withDefault("kubereel", {
    short: "n",
    placeholder: "NAME",
    help: "where the recorder runs",
    parse: parseName,
  }),
  name: withDefault("kubereel", {
    placeholder: "NAME",
    help: "of the Deployment, its account and its rights; a second recorder needs another",
    parse: parseName,
  }),
  image: optional({ short: "i", placeholder: "IMAGE", help: "of the recorder; default kubereel:VERSION", parse: text }),
  recordNamespace: list({
    placeholder: "NAME",
    help: "record only this namespace, for which a Role in it is enough; several need a ClusterRole",
    parse: parseName,
    split: true,
  }),
  ownerKind: list({
    placeholder: "KIND",
    help: "a kind that owns recorded objects besides those that Kubernetes makes owners itself",
    parse: parseGvkOption,
    split: true,
  }),
  allowSecrets: flag({ help: "permit v1.Secret in the configuration; secrets are then recorded in plain text" }),
  size: withDefault("10Gi", {
    placeholder: "SIZE",
    help: "of the recording's volume; an event takes some 70 bytes",
    parse: parseSize,
  }),
  volumeClaim: flag({ help: "keep the recording on a PersistentVolumeClaim; without it, it is gone with the pod" }),
  storageClass: optional({ placeholder: "NAME", help: "of the claim; default: the cluster's own", parse: text }),
  fsync: withDefault("interval", {
    placeholder: "WHEN",
    help: "interval: power loss costs at most the last second; always: nothing, but slower",
    parse: oneOf("interval", "always"),
  }),
  auth: withDefault("kubernetes", {
    placeholder: "HOW",
    help: "kubernetes: only who may create exports.kubereel.dev can export; none: whoever reaches the port",
    parse: oneOf("kubernetes", "none"),
  }),
  bind: withDefault("0.0.0.0", {
    placeholder: "ADDRESS",
    help: "address to listen on in the pod; :: where pods have no IPv4 address",
    parse: oneOf("0.0.0.0", "::"),
  }),
  expectedObjects: withDefault("10000", {
    placeholder: "NUMBER",
    help: "recorded objects alive at once, for the memory to ask for",
    parse: integerBetween(0, 100_000_000),
  }),
  expectedChanges: withDefault("1000", {
    placeholder: "NUMBER",
    help: "changes a second at the busiest, for the CPU to ask for",
    parse: integerBetween(0, 1_000_000),
  }),
  apiServerPort: list({
    placeholder: "PORT",
    help: "that API servers listen on, for the network policy; default 443 and 6443",
    parse: parsePort,
    split: true,
  }),
  allowFrom: list({
    placeholder: "CIDR",
    help: "addresses that may reach the recorder, such as those of the API servers for its service proxy",
    parse: parseBlock,
    split: true,
  }),
  monitoring: flag({ help: "add ServiceMonitor, PrometheusRule and a dashboard for Grafana" }),
  monitoringNamespace: withDefault("monitoring", {
    placeholder: "NAME",
    help: "where Prometheus runs",
    parse: parseName,
  }),
  kubeconfig: optional({
    placeholder: "FILE",
    help: "the cluster to ask for the kinds; default: KUBECONFIG, ~/.kube/config",
    parse: text,
  }),
  context: optional({ placeholder: "NAME", help: "context of the kubeconfig; default: its current one", parse: text }),
  offline: flag({ help: "ask no cluster: kinds that are built into Kubernetes only" }),
}

const syntax: CommandSyntax<typeof options> = {
  name: "reel k8s",
  summary: "Prints the manifests of a recorder that runs in a cluster, with the least rights its configuration needs.",
  description: [
    "Nothing is changed in the cluster: it is only asked how the tracked kinds are called in rules. docs/guides/in-cluster.md says what the manifests are good for.",
  ],
  options,
  examples: [
    "reel k8s --config tracer.yml --image registry.example.com/kubereel:0.1.0 | kubectl apply -f -",
    "reel k8s --record-namespace shop --auth none --volume-claim --size 50Gi",
    "reel k8s --offline",
  ],
}

type Options = OptionValues<typeof options>

export const k8sCommand = (): Command => command(syntax, run)

const defaultApiServerPorts: ReadonlyArray<number> = [443, 6443]

const run = async (given: Options, { standardOutput, standardError, environment }: Terminal): Promise<ExitCode> => {
  const say = (message: string): void => void standardError.write(`${syntax.name}: ${message}\n`)
  const loaded = await Effect.runPromise(
    Effect.result(readK8sConfiguration(given.config, { allowSecrets: given.allowSecrets })),
  )
  if (Result.isFailure(loaded)) {
    say(loaded.failure.message)
    return exitCodes.usage
  }
  const { configuration, contents, warnings } = loaded.success
  for (const warning of warnings) say(warning)
  const { kinds } = withinNamespaces(configuration, given.recordNamespace)
  const resolved = await withResolver({ ...given, environment }, (resolve) =>
    watchedResources(kinds, given.ownerKind, resolve),
  )
  if (resolved._tag === "NoCluster") {
    say(`${resolved.reason}\nWithout a cluster, --offline prints manifests for built-in kinds.`)
    return exitCodes.failed
  }
  const { watched, unresolved } = resolved.value
  for (const each of unresolved) say(describe(each, given))
  if (unresolved.some(({ isAbsent }) => !isAbsent)) return exitCodes.failed
  const version = readVersion()
  const manifests = manifestsFor({
    name: given.name,
    namespace: given.namespace,
    image: given.image ?? `kubereel:${version}`,
    version,
    configuration: contents,
    kinds,
    recordedNamespaces: given.recordNamespace,
    allowSecrets: given.allowSecrets,
    permissions: permissionsFor(watched, { reviews: given.auth === "kubernetes" }),
    volume: { size: given.size, isClaim: given.volumeClaim, storageClass: given.storageClass },
    fsync: given.fsync,
    authentication: given.auth,
    bind: given.bind,
    expectedObjects: given.expectedObjects,
    expectedChangesPerSecond: given.expectedChanges,
    apiServerPorts: given.apiServerPort.length === 0 ? defaultApiServerPorts : given.apiServerPort,
    allowedBlocks: given.allowFrom,
    monitoring: given.monitoring,
    monitoringNamespace: given.monitoringNamespace,
  })
  standardOutput.write(renderManifests(manifests, `kubereel ${version} in a cluster: docs/guides/in-cluster.md`))
  return unresolved.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

const describe = ({ gvk, isAbsent, detail }: Unresolved, { offline }: Options): string => {
  if (!isAbsent) return `${quoted(gvk)}: ${detail}`
  const advice = offline
    ? "print the manifests without --offline, so that a cluster which has it is asked"
    : "print the manifests again once it is installed"
  return `${quoted(gvk)}: ${detail}. There is no rule for it: ${advice}`
}
