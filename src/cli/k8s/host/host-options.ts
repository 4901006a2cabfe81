/** The options of `reel k8s --host`. */
import {
  flag,
  integerBetween,
  list,
  oneOf,
  optional,
  type Reading,
  refused,
  repeated,
  required,
  value,
  withDefault,
} from "../../command-line/arguments.ts"
import { k8sOptions, parseName, parsePort, parseSize } from "../k8s-options.ts"

/** Where the pod has the modules from. */
export type PlaceOption =
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
export const hostOptions = {
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
