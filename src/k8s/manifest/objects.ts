/** The objects that all of them have: a recorder, a controller host, and the controller of Simulations. */
import type { Rule } from "../rights/permissions.ts"
import { type Json, type Manifest, manifest } from "./manifest.ts"
import { selectorOf, userId } from "./settings.ts"

/** Name, namespace and labels of an object. */
interface Metadata {
  readonly name: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
}

/** Enforces the restricted pod security standard, so that edits that give the pod more privileges are rejected. */
export const namespaceManifest = (name: string, labels: Readonly<Record<string, string>>): Manifest => {
  const standards = Object.fromEntries(
    ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "restricted"]),
  )
  return manifest({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels: { ...labels, ...standards } } })
}

/** Deployments mount its token explicitly, or request one; other pods with this account do not get it. */
export const serviceAccount = ({ name, namespace, labels }: Metadata): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace, labels },
    automountServiceAccountToken: false,
  })

export const volumeClaim = (
  { name, namespace, labels }: Metadata,
  claimed: Claimed,
  ...comments: Manifest["comments"]
): Manifest =>
  manifest(
    {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name, namespace, labels },
      spec: claimSpec(claimed),
    },
    ...comments,
  )

interface Claimed {
  readonly size: string
  /** `undefined`: the cluster's default. */
  readonly storageClass: string | undefined
}

export const claimSpec = ({ size, storageClass }: Claimed) => ({
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: size } },
  ...(storageClass !== undefined && { storageClassName: storageClass }),
})

// Roles with their bindings.

const rbac = "rbac.authorization.k8s.io"

/** A Role and its binding to a ServiceAccount; without a namespace a ClusterRole. The reason of each rule is a comment. */
export const boundRole = (
  { name, namespace, labels }: Omit<Metadata, "namespace"> & { readonly namespace: string | undefined },
  rules: ReadonlyArray<Rule>,
  account: { readonly namespace: string; readonly name: string },
): ReadonlyArray<Manifest> => {
  const apiVersion = `${rbac}/v1`
  const kind = namespace === undefined ? "ClusterRole" : "Role"
  const metadata = { name, ...(namespace !== undefined && { namespace }), labels }
  return [
    manifest(
      { apiVersion, kind, metadata, rules: rules.map(({ reason: _, ...rule }) => ({ ...rule })) },
      ...rules.map(({ reason }, index) => ({ path: ["rules", index], text: reason })),
    ),
    manifest({
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: rbac, kind, name },
      subjects: [{ kind: "ServiceAccount", name: account.name, namespace: account.namespace }],
    }),
  ]
}

// Network policies.

const tcp = (port: number) => ({ protocol: "TCP", port })

/** TCP ports anywhere, for which no selector can match; `hasDns`: and DNS. */
export const egressTo = (ports: ReadonlyArray<number>, hasDns: boolean) => [
  { ports: [...new Set(ports)].map(tcp) },
  ...(hasDns ? [{ ports: ["UDP", "TCP"].map((protocol) => ({ protocol, port: 53 })) }] : []),
]

/** From the namespace of Prometheus. */
export const ingressOfPrometheus = (namespace: string, port: number) => ({
  from: [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } }],
  ports: [tcp(port)],
})

/** Of the pods of a Deployment. */
export const networkPolicy = (
  { name, namespace, labels }: Metadata,
  rules: { readonly ingress: Json; readonly egress: Json },
  ...comments: Manifest["comments"]
): Manifest =>
  manifest(
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name, namespace, labels },
      spec: { podSelector: { matchLabels: selectorOf({ name }) }, policyTypes: ["Ingress", "Egress"], ...rules },
    },
    ...comments,
  )

/** What is said of an egress to the API server alone. */
export const apiServerText =
  "The API server, which no selector can match. Its address is in the environment, so DNS is not needed."

interface ControllersNetwork {
  /** Of /metrics. */
  readonly port: number
  /** Of webhooks, which the API server calls. Default: none. */
  readonly webhookPort?: number | undefined
  /** TCP ports that the API server listens on, behind its Service. */
  readonly apiServerPorts: ReadonlyArray<number>
  /** Further TCP ports that programs of users may reach, anywhere; with any, DNS too. */
  readonly egressPorts: ReadonlyArray<number>
  /** Those programs, in the plural. */
  readonly programs: string
  readonly monitoring: boolean
  /** Namespace of the Prometheus that scrapes the pods. */
  readonly monitoringNamespace: string
}

/**
 * In: Prometheus, if there is one, since /metrics shows names and numbers to anyone; probes come from the node, which no policy blocks. Out: the API
 * server, which is all that controllers need; programs of users may be given further ports.
 */
export const controllersNetworkPolicy = (metadata: Metadata, network: ControllersNetwork): Manifest => {
  const { port, webhookPort, apiServerPorts, egressPorts, programs, monitoring, monitoringNamespace } = network
  return networkPolicy(
    metadata,
    {
      ingress: [
        ...(monitoring ? [ingressOfPrometheus(monitoringNamespace, port)] : []),
        // No selector can match the API server.
        ...(webhookPort === undefined ? [] : [{ ports: [tcp(webhookPort)] }]),
      ],
      egress: egressTo([...apiServerPorts, ...egressPorts], egressPorts.length > 0),
    },
    {
      path: ["spec", "egress"],
      text:
        egressPorts.length === 0
          ? apiServerText
          : `The API server, what ${programs} need, and DNS: no selector can match their addresses.`,
    },
  )
}

// Objects for the Prometheus operator.

/** Nothing but Prometheus calls controllers, so there is no Service. */
export const podMonitor = ({ name, namespace, labels }: Metadata): Manifest =>
  manifest({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PodMonitor",
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: selectorOf({ name }) },
      podMetricsEndpoints: [{ port: "http", path: "/metrics", interval: "15s" }],
    },
  })

/** One group of alerts. */
export const prometheusRule = ({ name, namespace, labels }: Metadata, group: string, rules: Json): Manifest =>
  manifest({
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name, namespace, labels },
    spec: { groups: [{ name: group, rules }] },
  })

/** In a ConfigMap that Grafana's sidecar finds. `file`: its name there. */
export const grafanaDashboard = ({ name, namespace, labels }: Metadata, file: string, dashboard: object): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${name}-dashboard`, namespace, labels: { ...labels, grafana_dashboard: "1" } },
    data: { [file]: `${JSON.stringify(dashboard, undefined, 2)}\n` },
  })

// Deployments and StatefulSets.

interface Program extends Metadata {
  /** Name of the container. */
  readonly container: string
  /** Its ServiceAccount. Default: the one with its name. */
  readonly account?: string
  readonly image: string
  readonly args: ReadonlyArray<string>
  readonly env?: Json
  readonly envFrom?: Json
  /** Port of the HTTP interface, with /healthz and /readyz. */
  readonly port: number
  readonly resources: Json
  readonly volumeMounts: ReadonlyArray<Json>
  readonly volumes: ReadonlyArray<Json>
  /** s from SIGTERM to SIGKILL. */
  readonly graceSeconds: number
  readonly replicas: number
  /** Of the pods, besides {@link labels}. */
  readonly podLabels?: Readonly<Record<string, string>>
  /** Of a StatefulSet, whose pods keep their names and start at once; absent: it is a Deployment. */
  readonly stateful?: { readonly volumeClaimTemplates: ReadonlyArray<Json> }
  /** Where the pods go: members of the pod's spec. */
  readonly placement?: { readonly [member: string]: Json }
  /** Comments. `strategy`: why there may be one pod at a time only; absent: there may be more. */
  readonly texts: {
    readonly strategy?: string
    readonly resources: string
    readonly liveness: string
    readonly readiness: string
    readonly volumes?: string
  }
}

/** Generous, because a busy machine may respond late: a probe checks whether it responds, not how fast. */
const probe = (path: string) => ({ httpGet: { path, port: "http" }, timeoutSeconds: 5 })

/** One container with no privileges and nothing to write to but volumes, which is more than the restricted pod security standard asks for. */
export const deployment = (program: Program): Manifest => {
  const { name, namespace, labels, container, texts, replicas, podLabels, placement, env, envFrom, stateful } = program
  const { account = name } = program
  const pod = ["spec", "template", "spec"]
  const inContainer = [...pod, "containers", 0]
  const comment = (path: ReadonlyArray<string | number>, text: string | undefined) =>
    text === undefined ? [] : [{ path, text }]
  return manifest(
    {
      apiVersion: "apps/v1",
      kind: stateful === undefined ? "Deployment" : "StatefulSet",
      metadata: { name, namespace, labels },
      spec: {
        replicas,
        ...(stateful !== undefined && { serviceName: name, podManagementPolicy: "Parallel", ...stateful }),
        ...(texts.strategy !== undefined && { strategy: { type: "Recreate" } }),
        selector: { matchLabels: selectorOf({ name }) },
        template: {
          metadata: {
            labels: { ...labels, ...podLabels },
            annotations: { "kubectl.kubernetes.io/default-container": container },
          },
          spec: {
            serviceAccountName: account,
            automountServiceAccountToken: true,
            enableServiceLinks: false,
            terminationGracePeriodSeconds: program.graceSeconds,
            securityContext: {
              runAsNonRoot: true,
              runAsUser: userId,
              runAsGroup: userId,
              fsGroup: userId,
              fsGroupChangePolicy: "OnRootMismatch",
              seccompProfile: { type: "RuntimeDefault" },
            },
            ...placement,
            containers: [
              {
                name: container,
                image: program.image,
                imagePullPolicy: "IfNotPresent",
                args: program.args,
                ...(env !== undefined && { env }),
                ...(envFrom !== undefined && { envFrom }),
                ports: [{ name: "http", containerPort: program.port, protocol: "TCP" }],
                resources: program.resources,
                startupProbe: { ...probe("/healthz"), periodSeconds: 2, failureThreshold: 60 },
                livenessProbe: { ...probe("/healthz"), periodSeconds: 20, failureThreshold: 6 },
                readinessProbe: { ...probe("/readyz"), periodSeconds: 5, failureThreshold: 2 },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  readOnlyRootFilesystem: true,
                  capabilities: { drop: ["ALL"] },
                },
                volumeMounts: program.volumeMounts,
              },
            ],
            volumes: program.volumes,
          },
        },
      },
    },
    ...comment(["spec", "strategy"], texts.strategy),
    ...comment([...inContainer, "resources"], texts.resources),
    ...comment([...inContainer, "livenessProbe"], texts.liveness),
    ...comment([...inContainer, "readinessProbe"], texts.readiness),
    ...comment([...pod, "volumes"], texts.volumes),
  )
}
