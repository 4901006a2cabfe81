/** The options of `reel k8s` and the parsers of their values. */
import { isIP } from "node:net"
import { readAllowList } from "../../blob/allow-list.ts"
import type { SecretKey } from "../../k8s/index.ts"
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  text,
  value,
  withDefault,
} from "../command-line/arguments.ts"
import { retentionOptions } from "./k8s-retention.ts"

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
  host: optional({
    placeholder: "DIRECTORY",
    help: "print manifests of a controller host for these modules instead; its options: reel k8s --host DIRECTORY --help",
    parse: text,
  }),
  simulation: flag({
    help: "print manifests of the controller of Simulations instead; its options: reel k8s --simulation --help",
  }),
  config: optional({
    short: "c",
    placeholder: "FILE",
    help: "what to record, as for reel record; default: workloads and the lifecycles of their pods",
    parse: text,
  }),
  namespace: withDefault("kubereel", {
    short: "n",
    placeholder: "NAME",
    help: "namespace to run the recorder in",
    parse: parseName,
  }),
  name: withDefault("kubereel", {
    placeholder: "NAME",
    help: "name of the Deployment, its ServiceAccount and its roles; a second recorder needs a different name",
    parse: parseName,
  }),
  image: optional({
    short: "i",
    placeholder: "IMAGE",
    help: "image of the recorder; default: kubereel:VERSION",
    parse: text,
  }),
  recordNamespace: list({
    placeholder: "NAME",
    help: "record only this namespace (a Role in it is enough); separate several with commas",
    parse: parseName,
    split: true,
  }),
  ownerKind: list({
    placeholder: "KIND",
    help: "a kind that owns recorded objects, in addition to the owner kinds built into Kubernetes, such as rollout or argoproj.io/v1alpha1.Rollout",
    parse: text,
    split: true,
  }),
  secretsInPlainText: flag({ help: "record v1.Secret as it is; default: its values are replaced by keyed hashes" }),
  redactKeySecret: optional({
    placeholder: "NAME/KEY",
    help: "the Secret, and the key in it, with the key of the hashes that replace secret values; default: one that is made in the data directory",
    parse: parseSecretKey,
  }),
  allowSecrets: flag({ help: "deprecated and ignored: v1.Secret is recorded with redacted values" }),
  size: withDefault("10Gi", {
    placeholder: "SIZE",
    help: "size of the recording's volume; an event takes about 70 bytes, and 20 once its block is merged with others",
    parse: parseSize,
  }),
  volumeClaim: flag({ help: "keep the recording on a PersistentVolumeClaim; otherwise it is lost with the pod" }),
  storageClass: optional({
    placeholder: "NAME",
    help: "storage class of the claim; default: the cluster's default",
    parse: text,
  }),
  ...retentionOptions,
  lease: optional({
    placeholder: "NAME",
    help: "a Lease in its namespace, for two recorders with a --name each, of which one records and the other stands by; also the name of the Service that leads to the one that records",
    parse: parseName,
  }),
  fsync: withDefault("interval", {
    placeholder: "WHEN",
    help: "interval: a power failure loses at most the last second; always: loses nothing, but is slower",
    parse: oneOf("interval", "always"),
  }),
  auth: withDefault("kubernetes", {
    placeholder: "HOW",
    help: "who may export: users who may create exports.kubereel.dev (kubernetes; others see the past of what they may read), anyone with a token from a Secret (token), or anyone who can reach the port (none)",
    parse: oneOf("kubernetes", "token", "none"),
  }),
  tokenSecret: optional({
    placeholder: "NAME/KEY",
    help: "for --auth token: the Secret and its key that hold one token per line; default: NAME-tokens/tokens, with the NAME of --name",
    parse: parseSecretKey,
  }),
  allowTarget: list({
    placeholder: "PREFIX",
    help: "object store location that the recorder may write traces to, such as s3://traces/team-a; default: none",
    parse: parsePlace,
    split: false,
  }),
  targetSecret: optional({
    placeholder: "NAME",
    help: "Secret with the environment variables that hold the credentials for those stores, such as AWS_ACCESS_KEY_ID",
    parse: parseSecretName,
  }),
  targetPort: list({
    placeholder: "PORT",
    help: "port of those stores, for the network policy; default: 443",
    parse: parsePort,
    split: true,
  }),
  bind: withDefault("0.0.0.0", {
    placeholder: "ADDRESS",
    help: "address to listen on in the pod; use :: where pods have no IPv4 address",
    parse: oneOf("0.0.0.0", "::"),
  }),
  expectedObjects: withDefault("10000", {
    placeholder: "NUMBER",
    help: "expected number of recorded objects, from which the memory request is computed",
    parse: integerBetween(0, 100_000_000),
  }),
  expectedChanges: withDefault("1000", {
    placeholder: "NUMBER",
    help: "expected changes per second at peak, from which the CPU request is computed",
    parse: integerBetween(0, 1_000_000),
  }),
  apiServerPort: list({
    placeholder: "PORT",
    help: "port of the API servers, for the network policy; default: 443 and 6443",
    parse: parsePort,
    split: true,
  }),
  allowFrom: list({
    placeholder: "CIDR",
    help: "address range that may reach the recorder, such as that of the API servers for their service proxy",
    parse: parseBlock,
    split: true,
  }),
  monitoring: flag({ help: "add a ServiceMonitor, a PrometheusRule and a Grafana dashboard" }),
  monitoringNamespace: withDefault("monitoring", {
    placeholder: "NAME",
    help: "namespace that Prometheus runs in",
    parse: parseName,
  }),
  kubeconfig: optional({
    placeholder: "FILE",
    help: "kubeconfig of the cluster that has the kinds; default: KUBECONFIG or ~/.kube/config",
    parse: text,
  }),
  context: optional({
    placeholder: "NAME",
    help: "context of the kubeconfig; default: its current context",
    parse: text,
  }),
  offline: flag({ help: "contact no cluster; only kinds built into Kubernetes are known" }),
}
