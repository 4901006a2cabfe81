/** `reel k8s`: arguments and printing. The manifests themselves are made in src/k8s. */

import { createReadStream } from "node:fs"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import {
  type Authentication,
  manifestsFor,
  permissionsFor,
  renderManifests,
  type Unresolved,
  watchedResources,
} from "../k8s/index.ts"
import { type ApiEndpoint, defaultDetect, defaultIgnore } from "../kube/index.ts"
import {
  byCause,
  defaultConfiguration,
  defaultConfigurationName,
  formatWarning,
  isRefusedCredentials,
  loadConfiguration,
  serverTrouble,
  withConnectionAdvice,
  withinNamespaces,
} from "../recorder/index.ts"
import { quoted } from "../text/index.ts"
import type { CommandSyntax, OptionValues } from "./command-line/arguments.ts"
import { type Command, type CommandTerminal, command } from "./command-line/command.ts"
import { CommandFailed, type ExitCode, exitCodes } from "./command-line/exit-codes.ts"
import { readKinds } from "./command-line/kind-option.ts"
import { describeRefused } from "./command-line/refused-credentials.ts"
import { allowSecretsAdvice, clusterVariables } from "./command-line/shared-options.ts"
import { readVersion } from "./command-line/version.ts"
import { k8sHostCommand } from "./k8s/host/k8s-host.ts"
import { k8sOptions, retentionArguments } from "./k8s/k8s-options.ts"
import { withResolver } from "./k8s/k8s-resolver.ts"
import { k8sSimulationCommand } from "./k8s/k8s-simulation.ts"
import { defaultImage, prerequisites } from "./k8s/prerequisites.ts"

// The configuration that goes into a ConfigMap: parsed, and its original text.

/**
 * Reads `file`, or uses the default configuration. Fails as `loadConfiguration` does.
 * `contents` is always UTF-8, because a ConfigMap holds nothing else.
 */
const readK8sConfiguration = (
  file: string | undefined,
  { secretsInPlainText }: { readonly secretsInPlainText: boolean },
) =>
  Effect.gen(function* () {
    const source = file ?? defaultConfigurationName
    let bytes: Uint8Array = Buffer.from(defaultConfiguration)
    const { configuration, warnings } = yield* loadConfiguration(source, {
      secretsInPlainText,
      defaults: { defaultDetect, defaultIgnore },
      readBeginning: async (_, limit) => {
        if (file !== undefined) bytes = await beginningOf(file, limit)
        return bytes
      },
    })
    return {
      configuration,
      contents: decode(bytes),
      warnings: warnings.map((warning) => formatWarning(source, warning)),
    }
  })

const beginningOf = async (file: string, limit: number): Promise<Uint8Array> => {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { end: limit - 1 })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** Decodes by byte order mark, as YAML does, and drops the mark. */
const decode = (bytes: Uint8Array): string => {
  const [first, second] = bytes
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes)
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes)
  return new TextDecoder().decode(bytes)
}

const syntax: CommandSyntax<typeof k8sOptions> = {
  name: "reel k8s",
  summary:
    "Prints manifests that run a recorder, controllers, or Simulations in a cluster with the minimum permissions they need.",
  description: [
    "Changes nothing in the cluster: it only looks up the resource names that RBAC rules need. docs/guides/in-cluster.md explains the manifests.",
  ],
  options: k8sOptions,
  exitCodes: {
    failed: "the cluster cannot be reached; nothing was printed",
    usage: "the command line or the configuration is invalid",
    incomplete: "printed, but a kind is not installed, so the roles have no rule for it",
    notPermitted: "the server refuses the credentials; nothing was printed",
  },
  environment: clusterVariables,
  examples: [
    "reel k8s --config tracer.yml --image registry.example.com/kubereel:0.1.0 | kubectl apply -f -",
    "reel k8s --record-namespace shop --auth none --volume-claim --size 50Gi",
    "reel k8s --auth token --allow-target s3://traces/shop --target-secret store-access",
    "reel k8s --archive-to s3://recordings/production --target-secret store-access",
    "reel k8s --name kubereel-a --lease kubereel --volume-claim",
    "reel k8s --replicas 4 --split pods,events --archive-to s3://recordings/huge --redact-key-secret kubereel-redaction/key",
    "reel k8s --offline",
    "reel k8s --host modules --image registry.example.com/kubereel:0.1.0",
    "reel k8s --simulation --image registry.example.com/kubereel:0.1.0",
  ],
  seeAlso: ["reel record", "docs/guides/in-cluster.md", "docs/reference/configuration.md"],
}

type Options = OptionValues<typeof k8sOptions>

/** With `--host` or `--simulation` it is about something else and has other options, so those are commands of their own. */
export const k8sCommand = (): Command => {
  const recorder = command(syntax, run)
  const host = k8sHostCommand()
  const simulation = k8sSimulationCommand()
  const has = (argv: readonly string[], option: string): boolean =>
    argv.some((word) => word === option || word.startsWith(`${option}=`))
  const chosen = (argv: readonly string[]): Command => {
    if (has(argv, "--host")) return host
    return has(argv, "--simulation") ? simulation : recorder
  }
  return {
    ...recorder,
    variants: [host.syntax, simulation.syntax],
    run: (argv, terminal) => chosen(argv).run(argv, terminal),
  }
}

const defaultApiServerPorts: ReadonlyArray<number> = [443, 6443]
const defaultTargetPorts: ReadonlyArray<number> = [443]

const run = async (
  given: Options,
  { standardOutput, environment, say }: CommandTerminal,
): Promise<ExitCode | string> => {
  const authentication = replicasProblem(given) ?? authenticationOf(given)
  if (typeof authentication === "string") return authentication
  const loaded = await Effect.runPromise(
    Effect.result(readK8sConfiguration(given.config, { secretsInPlainText: given.secretsInPlainText })),
  )
  if (Result.isFailure(loaded)) throw new CommandFailed(loaded.failure.message, exitCodes.usage)
  const { configuration, contents, warnings } = loaded.success
  if (given.allowSecrets) say(allowSecretsAdvice)
  for (const warning of warnings) say(warning)
  const { kinds, every } = withinNamespaces(configuration, given.recordNamespace)
  const without = "Without a cluster, --offline prints manifests for built-in kinds."
  const { value, endpoint } = await withResolver({ ...given, environment, without }, async (resolve, kindNames) => {
    const owners = await readKinds(given.ownerKind, kindNames)
    return "problem" in owners ? owners : await watchedResources(kinds, owners, resolve, given.replicas !== undefined)
  })
  if ("problem" in value) return `--owner-kind: ${value.problem}`
  const { watched, unresolved } = value
  const failed = unresolved.filter(({ isAbsent }) => !isAbsent)
  for (const each of unresolved) if (each.isAbsent) say(describeAbsent(each, given))
  for (const { gvks, detail } of byCause(failed.map((each) => ({ ...each, state: "failing" }))))
    say(describeFailed(gvks, detail, endpoint))
  if (failed.length > 0)
    return failed.every(({ detail }) => isRefusedCredentials(detail)) ? exitCodes.notPermitted : exitCodes.failed
  const version = readVersion()
  const { replicas: count, shards = count ?? 1, split } = given
  const replicas = count === undefined ? undefined : { count, shards, split }
  const manifests = manifestsFor({
    name: given.name,
    namespace: given.namespace,
    image: given.image ?? defaultImage(version),
    version,
    configuration: contents,
    kinds,
    isEveryKind: every !== undefined,
    recordedNamespaces: given.recordNamespace,
    secretsInPlainText: given.secretsInPlainText,
    redactKeySecret: given.redactKeySecret,
    permissions: permissionsFor(watched, {
      reviews: given.auth === "kubernetes" && replicas === undefined,
      isArchived: given.archiveTo !== undefined,
      ...(every !== undefined && { every: { namespaces: every.namespaces } }),
    }),
    volume: { size: given.size, isClaim: given.volumeClaim, storageClass: given.storageClass },
    retention: retentionArguments({ ...given, shards: replicas?.shards }, configuration.retainBytes !== undefined),
    fsync: given.fsync,
    lease: given.lease,
    replicas,
    authentication,
    allowedTargets: given.allowTarget,
    targetPorts: given.targetPort.length === 0 ? defaultTargetPorts : given.targetPort,
    targetSecret: given.targetSecret,
    archiveTo: given.archiveTo,
    serviceAccount: given.serviceAccount,
    bind: given.bind,
    expectedObjects: given.expectedObjects,
    expectedChangesPerSecond: given.expectedChanges,
    apiServerPorts: given.apiServerPort.length === 0 ? defaultApiServerPorts : given.apiServerPort,
    allowedBlocks: given.allowFrom,
    monitoring: given.monitoring,
    monitoringNamespace: given.monitoringNamespace,
  })
  standardOutput.write(renderManifests(manifests, `kubereel ${version} in a cluster: docs/guides/in-cluster.md`))
  const monitoringKinds = given.monitoring ? ["ServiceMonitor", "PrometheusRule"] : []
  for (const sentence of prerequisites({ image: given.image, version, monitoringKinds })) say(sentence)
  return unresolved.length === 0 ? exitCodes.ok : exitCodes.incomplete
}

/** The problem with the options of replicas, which serve health and metrics only. */
const replicasProblem = (given: Options): string | undefined => {
  const { replicas, shards, split, archiveTo, redactKeySecret, secretsInPlainText, lease, auth, tokenSecret } = given
  if (replicas === undefined)
    return shards === undefined && split.length === 0 ? undefined : "--shards and --split are for --replicas"
  if (lease !== undefined || auth === "token" || tokenSecret !== undefined || given.allowTarget.length > 0)
    return "--lease, --auth token and --allow-target are not for --replicas, which serve health and metrics only"
  if (archiveTo === undefined)
    return "--replicas needs --archive-to: a replica that takes a shard over continues its stream"
  return redactKeySecret === undefined && !secretsInPlainText
    ? "--replicas needs --redact-key-secret NAME/KEY: with a key in each directory, a shard that moves is listed anew, with a gap"
    : undefined
}

/** The authentication that the options configure, or the problem with their combination. */
const authenticationOf = (given: Options): Authentication | string => {
  const { auth, name, tokenSecret, allowTarget, archiveTo, targetSecret, lease } = given
  if (lease === name)
    return `--lease must not be the --name, ${name}: a Service with the name of the Lease leads to the recorder that records`
  if (targetSecret !== undefined && allowTarget.length === 0 && archiveTo === undefined)
    return "--target-secret is for the stores of --allow-target and --archive-to, of which none is given"
  if (auth === "token") return { tag: auth, secret: tokenSecret ?? { name: `${name}-tokens`, key: "tokens" } }
  return tokenSecret === undefined ? { tag: auth } : `--token-secret is for --auth token, not for --auth ${auth}`
}

/** A trouble of the server is one of all kinds. */
const describeFailed = (gvks: ReadonlyArray<string>, detail: string, endpoint: ApiEndpoint | undefined): string => {
  if (isRefusedCredentials(detail)) return describeRefused(detail, endpoint)
  const what = serverTrouble(detail)?.subject ?? `${gvks.map(quoted).join(", ")} cannot be looked up`
  return `${what}: ${withConnectionAdvice(detail)}`
}

const describeAbsent = ({ gvk, detail }: Unresolved, { offline }: Options): string => {
  const advice = offline
    ? "print the manifests without --offline, using a cluster that has it"
    : "print the manifests again once it is installed"
  return `${quoted(gvk)}: ${detail}. The roles have no rule for it: ${advice}`
}
