/** All settings of the manifests of a controller host. The command line provides them; nothing is read from elsewhere. */
import type { ScopedRules, ServiceAccountName } from "../../host/index.ts"
import { labelsOf } from "../manifest/settings.ts"

/** A module, as far as the manifests depend on it. */
export interface ModuleNeeds {
  readonly name: string
  /** `undefined`: it acts as the host. */
  readonly account: ServiceAccountName | undefined
  readonly rights: ReadonlyArray<ScopedRules>
  /** Largest linear memory in bytes; `undefined` for a script. */
  readonly memoryBytes: number | undefined
  /** The host's rights to register its webhooks; empty: it has none. */
  readonly webhooks: ReadonlyArray<ScopedRules>
  /** Whether it keeps a checkpoint, or one of its controllers does. */
  readonly hasCheckpoint: boolean
}

/** A ConfigMap with files of the modules' directory. */
export interface ModuleConfigMap {
  readonly name: string
  /** Texts by file name. */
  readonly data: Readonly<Record<string, string>>
  /** Base64 by file name. */
  readonly binaryData: Readonly<Record<string, string>>
}

/** Where the container finds the modules. */
export type ModulePlace =
  | { readonly tag: "config-maps"; readonly configMaps: ReadonlyArray<ModuleConfigMap> }
  /** In /modules of the image. */
  | { readonly tag: "image" }
  /** On a PersistentVolumeClaim of the host's namespace, at its root. */
  | { readonly tag: "claim"; readonly name: string }

/** Where checkpoints are. `size`: a Kubernetes quantity such as `1Gi`. */
type StatePlace =
  /** On a PersistentVolumeClaim of the host's own. `storageClass` `undefined`: the cluster's default. */
  | { readonly tag: "claim"; readonly size: string; readonly storageClass: string | undefined }
  /** On an emptyDir: they outlive the container, but not the pod. */
  | { readonly tag: "empty-dir"; readonly size: string }

export interface HostSettings {
  /** Name of the Deployment and, unless stated otherwise, of all other objects. */
  readonly name: string
  /** The namespace that the host runs in. */
  readonly namespace: string
  readonly image: string
  /** Version of kubereel, for the label. */
  readonly version: string
  readonly modules: ReadonlyArray<ModuleNeeds>
  readonly place: ModulePlace
  /** Counts only if a module keeps a checkpoint. */
  readonly state: StatePlace
  /** Threads that WebAssembly modules share. */
  readonly workers: number
  /** Address to listen on within the pod: `0.0.0.0`, or `::` where pods have no IPv4 address. */
  readonly bind: string
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** Further TCP ports that scripts may reach, anywhere; with any, DNS too. */
  readonly egressPorts: ReadonlyArray<number>
  /** Whether to add objects of the Prometheus operator. */
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the host. */
  readonly monitoringNamespace: string
}

/** Port of `/healthz`, `/readyz` and `/metrics`, as for `reel host`. */
export const hostPort = 7790

/** Port of the webhooks, of the Service and of the pod. */
export const webhookPort = 9443

export const servesWebhooks = ({ modules }: Pick<HostSettings, "modules">): boolean =>
  modules.some(({ webhooks }) => webhooks.length > 0)

/** Labels of all objects. */
export const hostLabels = ({ name, version }: Pick<HostSettings, "name" | "version">) =>
  labelsOf({ name, version, component: "host" })

/** The ServiceAccounts that modules name, each once, in order. */
export const accountsOf = (modules: ReadonlyArray<ModuleNeeds>): ReadonlyArray<ServiceAccountName> => {
  const accounts = new Map<string, ServiceAccountName>()
  for (const { account } of modules)
    if (account !== undefined) accounts.set(`${account.namespace}/${account.name}`, account)
  return [...accounts].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, account]) => account)
}
