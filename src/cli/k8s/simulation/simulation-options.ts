/** The options of `reel k8s --simulation`. */
import { flag, integerBetween, list, optional, text, withDefault } from "../../command-line/arguments.ts"
import { k8sOptions, parseName, parsePort } from "../k8s-options.ts"

const { bind, apiServerPort, monitoringNamespace } = k8sOptions

export const simulationOptions = {
  simulation: flag({ help: "print manifests of the controller of Simulations" }),
  namespace: withDefault("kubereel-simulation", {
    short: "n",
    placeholder: "NAME",
    help: "namespace to run the controller in; drivers run where their Simulations say",
    parse: parseName,
  }),
  image: optional({
    short: "i",
    placeholder: "IMAGE",
    help: "image of the controller; default: kubereel:VERSION. That of drivers is in their Simulations",
    parse: text,
  }),
  replicas: withDefault("1", {
    placeholder: "NUMBER",
    help: "pods of the controller: one of them works, the others stand by",
    parse: integerBetween(1, 10),
  }),
  bind,
  apiServerPort,
  egressPort: list({
    placeholder: "PORT",
    help: "further port that hooks may reach, for the network policy, which then allows DNS too; default: none",
    parse: parsePort,
    split: true,
  }),
  monitoring: flag({ help: "add a PodMonitor" }),
  monitoringNamespace,
}
