/** The options of `reel k8s` and the parsers of their values. */
import { isIP } from "node:net"
import { readAllowList } from "../../blob/index.ts"
import type { SecretKey } from "../../k8s/index.ts"
import { quantityOf } from "../../kube/offline.ts"
import { readRetainBytes, readRetainFor } from "../../recorder/index.ts"
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { parseArchiveAddress } from "../record/record-archive.ts"
import { ofKinds } from "../record/record-limits.ts"

// How much a recorder in a cluster keeps: as given, and by default four fifths of its volume, so that it never fills it.

/** As the recorder reads it, but passed on as written. */
const asWritten =
  (parse: (given: string) => Reading<unknown>) =>
  (given: string): Reading<string> => {
    const reading = parse(given)
    return reading._tag === "Value" ? value(given) : reading
  }

const bytesOfKinds = asWritten(ofKinds((text, gvk) => readRetainBytes(text, gvk !== undefined)))

/** Leaves the limit to the configuration file. */
const none = "none"

const retentionOptions = {
  retainFor: list(
    "DURATION",
    "how long what was recorded is kept, such as 30d; of a kind: v1.Event=1d; default: as long as there is room",
    asWritten(ofKinds((text) => readRetainFor(text))),
  ),
  retainBytes: list(
    "SIZE",
    "how much the recording may take on disk; of a kind: v1.Event=1Gi; none: any; default: four fifths of --size",
    (given) => (given === none ? value(given) : bytesOfKinds(given)),
  ),
} as const

interface RetentionGiven {
  readonly retainFor: ReadonlyArray<string>
  readonly retainBytes: ReadonlyArray<string>
  readonly size: string
  /** Recordings that may be on one volume. Default 1. */
  readonly shards?: number | undefined
}

const mebibyte = 1024 * 1024

/** Arguments of the recorder. `isLimited`: the configuration file has a limit of bytes for all, which the command line must not replace unasked. */
export const retentionArguments = (
  { retainFor, retainBytes, size, shards = 1 }: RetentionGiven,
  isLimited: boolean,
): ReadonlyArray<string> => {
  const wanted = retainBytes.filter((text) => text !== none)
  const isDefault = !isLimited && retainBytes.every((text) => text.includes("="))
  const fourFifths = `${Math.floor((0.8 * (quantityOf(size) ?? 0)) / shards / mebibyte)}Mi`
  // Of a volume that is too small for any limit, none is set.
  const ofVolume = isDefault && typeof readRetainBytes(fourFifths, false) === "number" ? [fourFifths] : []
  return [
    ...retainFor.map((text) => `--retain-for=${text}`),
    ...[...ofVolume, ...wanted].map((text) => `--retain-bytes=${text}`),
  ]
}

/** A DNS label, which is also the value of a label. */
export const parseName = (given: string): Reading<string> =>
  /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(given)
    ? value(given)
    : refused("must be a name of at most 63 lower-case letters, digits and -")

/** A Kubernetes quantity of bytes, in the forms that people write. */
export const parseSize = (given: string): Reading<string> =>
  /^[1-9]\d{0,5}(?:[KMGTPE]i?)$/.test(given) ? value(given) : refused("must be a size such as 10Gi or 500Mi")

const parseBlock = (given: string): Reading<string> => {
  const [address = "", length = "", ...rest] = given.split("/")
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  return rest.length === 0 && /^\d{1,3}$/.test(length) && Number(length) <= longest
    ? value(given)
    : refused("must be an address range such as 10.0.0.0/24 or 192.0.2.7/32")
}

/** Names of objects that are not also label values. */
const secretName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

const parseSecretName = (given: string): Reading<string> =>
  secretName.test(given) ? value(given) : refused("must be the name of a Secret")

const parseSecretKey = (given: string): Reading<SecretKey> => {
  const [name = "", key = "tokens", ...rest] = given.split("/")
  const isKey = /^[A-Za-z0-9._-]{1,253}$/.test(key) && !key.startsWith("..") && key !== "."
  return rest.length === 0 && secretName.test(name) && isKey
    ? value({ name, key })
    : refused("must be the name of a Secret and one of its keys, such as kubereel-tokens/tokens")
}

/** Validated as the recorder will read it, but passed on as written. */
const parsePlace = (given: string): Reading<string> => {
  const reading = readAllowList([given])
  return reading.tag === "allow-list" ? value(given) : refused(reading.faults.join("; "))
}

/** A TCP port. */
export const parsePort = integerBetween(1, 65_535)

/** The options of `reel k8s`. */
export const k8sOptions = {
  host: optional(
    "DIRECTORY",
    "print manifests of a controller host for these modules instead; its options: reel k8s --host DIRECTORY --help",
  ),
  simulation: flag({
    help: "print manifests of the controller of Simulations instead; its options: reel k8s --simulation --help",
  }),
  config: optional(
    "-c FILE",
    "what to record, as for reel record; default: workloads and the lifecycles of their pods",
  ),
  namespace: withDefault("kubereel", "-n NAME", "namespace to run the recorder in", parseName),
  name: withDefault(
    "kubereel",
    "NAME",
    "name of the Deployment, its ServiceAccount and its roles; a second recorder needs a different name",
    parseName,
  ),
  image: optional("-i IMAGE", "image of the recorder; default: kubereel:VERSION"),
  recordNamespace: list(
    "NAME",
    "record only this namespace (a Role in it is enough); separate several with commas",
    parseName,
  ),
  ownerKind: list(
    "KIND",
    "a kind that owns recorded objects, in addition to the owner kinds built into Kubernetes, such as rollout or argoproj.io/v1alpha1.Rollout",
  ),
  secretsInPlainText: flag({ help: "record v1.Secret as it is; default: its values are replaced by keyed hashes" }),
  redactKeySecret: optional(
    "NAME/KEY",
    "the Secret, and the key in it, with the key of the hashes that replace secret values; default: one that is made in the data directory",
    parseSecretKey,
  ),
  allowSecrets: flag({ help: "deprecated and ignored: v1.Secret is recorded with redacted values" }),
  size: withDefault(
    "10Gi",
    "SIZE",
    "size of the recording's volume; an event takes about 70 bytes, and 20 once its block is merged with others",
    parseSize,
  ),
  volumeClaim: flag({ help: "keep the recording on a PersistentVolumeClaim; otherwise it is lost with the pod" }),
  storageClass: optional("NAME", "storage class of the claim; default: the cluster's default"),
  ...retentionOptions,
  lease: optional(
    "NAME",
    "a Lease in its namespace, for two recorders with a --name each, of which one records and the other stands by; also the name of the Service that leads to the one that records",
    parseName,
  ),
  replicas: optional(
    "NUMBER",
    "for a cluster that is too large for one recorder: a StatefulSet of so many, which share its shards; needs --archive-to and --redact-key-secret",
    integerBetween(1, 1000),
  ),
  shards: optional(
    "NUMBER",
    "for --replicas: into how many shards the cluster is divided, which never changes at one address; default: as many as replicas",
    integerBetween(1, 1000),
  ),
  split: list(
    "KIND",
    "for --replicas: a kind whose objects are divided among all shards, as for reel record --split; separate several with commas",
  ),
  fsync: withDefault(
    "interval",
    "WHEN",
    "interval: a power failure loses at most the last second; always: loses nothing, but is slower",
    oneOf("interval", "always"),
  ),
  auth: withDefault(
    "kubernetes",
    "HOW",
    "who may export: users who may create exports.kubereel.dev (kubernetes; others see the past of what they may read), anyone with a token from a Secret (token), or anyone who can reach the port (none)",
    oneOf("kubernetes", "token", "none"),
  ),
  tokenSecret: optional(
    "NAME/KEY",
    "for --auth token: the Secret and its key that hold one token per line; default: NAME-tokens/tokens, with the NAME of --name",
    parseSecretKey,
  ),
  allowTarget: repeated(
    "PREFIX",
    "object store location that the recorder may write traces to, such as s3://traces/team-a; default: none",
    parsePlace,
  ),
  archiveTo: optional(
    "ADDRESS",
    "keep the recording in an object store too: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or azure://CONTAINER/PREFIX, a prefix for each cluster; default: it is not",
    parseArchiveAddress,
  ),
  serviceAccount: optional(
    "NAME",
    "ServiceAccount of the pod, which exists and has rights to those stores (workload identity); it gets the roles. Default: one is made",
    parseSecretName,
  ),
  targetSecret: optional(
    "NAME",
    "Secret with the environment variables that hold the credentials for those stores, such as AWS_ACCESS_KEY_ID",
    parseSecretName,
  ),
  targetPort: list("PORT", "port of those stores, for the network policy; default: 443", parsePort),
  bind: withDefault(
    "0.0.0.0",
    "ADDRESS",
    "address to listen on in the pod; use :: where pods have no IPv4 address",
    oneOf("0.0.0.0", "::"),
  ),
  expectedObjects: withDefault(
    "10000",
    "NUMBER",
    "expected number of recorded objects, from which the memory request is computed",
    integerBetween(0, 100_000_000),
  ),
  expectedChanges: withDefault(
    "1000",
    "NUMBER",
    "expected changes per second at peak, from which the CPU request is computed",
    integerBetween(0, 1_000_000),
  ),
  apiServerPort: list("PORT", "port of the API servers, for the network policy; default: 443 and 6443", parsePort),
  allowFrom: list(
    "CIDR",
    "address range that may reach the recorder, such as that of the API servers for their service proxy",
    parseBlock,
  ),
  monitoring: flag({ help: "add a ServiceMonitor, a PrometheusRule and a Grafana dashboard" }),
  monitoringNamespace: withDefault("monitoring", "NAME", "namespace that Prometheus runs in", parseName),
  kubeconfig: optional("FILE", "kubeconfig of the cluster that has the kinds; default: KUBECONFIG or ~/.kube/config"),
  context: optional("NAME", "context of the kubeconfig; default: its current context"),
  offline: flag({ help: "contact no cluster; only kinds built into Kubernetes are known" }),
}
