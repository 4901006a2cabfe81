/** The options of `reel k8s`, and how each is read. */
import { isIP } from "node:net"
import { readAllowList } from "../../blob/allow-list.ts"
import type { SecretKey } from "../../k8s/index.ts"
import { type GroupVersionKind, parseGvk } from "../../kube/gvk.ts"
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

/** Names of objects, other than those that become labels. */
const secretName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/

const parseSecretName = (given: string): Reading<string> =>
  secretName.test(given) ? value(given) : refused("it must be the name of a Secret")

const parseSecretKey = (given: string): Reading<SecretKey> => {
  const [name = "", key = "tokens", ...rest] = given.split("/")
  const isKey = /^[A-Za-z0-9._-]{1,253}$/.test(key) && !key.startsWith("..") && key !== "."
  return rest.length === 0 && secretName.test(name) && isKey
    ? value({ name, key })
    : refused("it must be the name of a Secret and one of its keys, such as kubereel-tokens/tokens")
}

/** As the recorder will read it; given on as it was written. */
const parsePlace = (given: string): Reading<string> => {
  const reading = readAllowList([given])
  return reading.tag === "allow-list" ? value(given) : refused(reading.faults.join("; "))
}

const parsePort = integerBetween(1, 65_535)

/** What `reel k8s` can be told. */
export const k8sOptions = {
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
    help: "record only this namespace, for which a Role in it is enough; several are separated by commas",
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
    help: "kubernetes: only who may create exports.kubereel.dev can export; token: who has a token of a Secret; none: whoever reaches the port",
    parse: oneOf("kubernetes", "token", "none"),
  }),
  tokenSecret: optional({
    placeholder: "NAME/KEY",
    help: "for --auth token: the Secret with one token per line; default NAME-tokens/tokens, after --name",
    parse: parseSecretKey,
  }),
  allowTarget: list({
    placeholder: "PREFIX",
    help: "where in object stores the recorder may write traces, such as s3://traces/team-a; default: nowhere",
    parse: parsePlace,
    split: false,
  }),
  targetSecret: optional({
    placeholder: "NAME",
    help: "a Secret of environment variables that let it into those stores, such as AWS_ACCESS_KEY_ID",
    parse: parseSecretName,
  }),
  targetPort: list({
    placeholder: "PORT",
    help: "that those stores listen on, for the network policy; default 443",
    parse: parsePort,
    split: true,
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
