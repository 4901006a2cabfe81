/** The options of `reel k8s --host`. */
import {
  flag,
  integerBetween,
  list,
  optional,
  type Reading,
  refused,
  required,
  text,
  value,
  withDefault,
} from "../../command-line/arguments.ts"
import { k8sOptions, parseName, parsePort } from "../k8s-options.ts"

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

const { bind, apiServerPort, monitoringNamespace, kubeconfig, context, offline } = k8sOptions

/** The options of `reel k8s --host`. */
export const hostOptions = {
  host: required({ placeholder: "DIRECTORY", help: "the modules, as for reel host", parse: text }),
  modules: withDefault("config-maps", {
    placeholder: "PLACE",
    help: "where the pod has the modules from: config-maps, image (in its directory /modules) or claim/NAME",
    parse: parsePlace,
  }),
  crd: list({
    placeholder: "FILE",
    help: "CustomResourceDefinitions of kinds that the cluster does not have yet, or with --offline",
    parse: text,
    split: false,
  }),
  namespace: withDefault("kubereel-host", {
    short: "n",
    placeholder: "NAME",
    help: "namespace to run the host in",
    parse: parseName,
  }),
  name: withDefault("kubereel-host", {
    placeholder: "NAME",
    help: "name of the Deployment, its ServiceAccount and its roles; a second host needs a different name",
    parse: parseName,
  }),
  image: optional({
    short: "i",
    placeholder: "IMAGE",
    help: "image of the host; default: kubereel:VERSION",
    parse: text,
  }),
  workers: withDefault("2", {
    placeholder: "NUMBER",
    help: "threads that WebAssembly modules share",
    parse: integerBetween(1, 64),
  }),
  bind,
  apiServerPort,
  egressPort: list({
    placeholder: "PORT",
    help: "further port that scripts may reach, for the network policy, which then allows DNS too; default: none",
    parse: parsePort,
    split: true,
  }),
  monitoring: flag({ help: "add a PodMonitor and a PrometheusRule" }),
  monitoringNamespace,
  kubeconfig,
  context,
  offline,
}
