/** All manifests of a recorder in a cluster, in an order in which they can be applied. */
import { configMap, recorderDeployment } from "./deployment.ts"
import { type Json, type Manifest, manifest } from "./manifest/manifest.ts"
import {
  apiServerText,
  boundRole,
  egressTo,
  grafanaDashboard,
  ingressOfPrometheus,
  namespaceManifest,
  networkPolicy,
  prometheusRule,
  serviceAccount,
  volumeClaim,
} from "./manifest/objects.ts"
import {
  type Authentication,
  accountOf,
  httpPort,
  labelsOf,
  leaseLabel,
  type ManifestSettings,
  metadataOf,
  metricsKey,
  selectorOf,
} from "./manifest/settings.ts"
import alerts from "./monitoring/alerts.json" with { type: "json" }
import dashboard from "./monitoring/dashboard.json" with { type: "json" }
import type { Rule } from "./rights/permissions.ts"

// The recorder's Service, network policy and disruption budget.

/** Pods with this label in the recorder's namespace may reach it. */
const clientLabel = { "kubereel.dev/export": "allowed" } as const

/** Of replicas it has no address of its own: each is asked for itself. */
const service = (settings: ManifestSettings): Manifest =>
  serviceOf(settings, selectorOf(settings), settings.replicas !== undefined)

/** The same for all recorders with the Lease: it leads to the one that records, because the others are not ready. */
const leaseService = (settings: ManifestSettings, lease: string): Manifest =>
  serviceOf({ ...settings, name: lease }, { [leaseLabel]: lease })

const serviceOf = (
  settings: Pick<ManifestSettings, "name" | "namespace" | "version">,
  selector: Readonly<Record<string, string>>,
  isHeadless = false,
): Manifest =>
  manifest({
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(settings),
    spec: {
      selector,
      ...(isHeadless && { clusterIP: "None" }),
      ports: [{ name: "http", port: httpPort, targetPort: "http", protocol: "TCP", appProtocol: "http" }],
    },
  })

/**
 * Without authentication, anyone who can reach the port can export, so few clients are allowed. With authentication, the API server or
 * a token decides who exports, and any client may connect, including the API server's service proxy, whose source address is unknown.
 * Probes and "kubectl port-forward" come from the node, which no policy blocks.
 */
const network = (settings: ManifestSettings): Manifest => {
  const { apiServerPorts, allowedTargets, targetPorts, authentication } = settings
  const hasStores = allowedTargets.length > 0 || settings.archiveTo !== undefined
  const admitted = {
    none: "Anyone admitted here can export. Probes and port-forwards come from the node, which no policy blocks.",
    kubernetes: "Open to all: the recorder has the API server authorise each request.",
    token: "Open to all: each request needs a token.",
  }
  return networkPolicy(
    metadataOf(settings),
    {
      ingress: ingress(settings),
      egress: egressTo([...apiServerPorts, ...(hasStores ? targetPorts : [])], hasStores),
    },
    { path: ["spec", "ingress"], text: settings.replicas === undefined ? admitted[authentication.tag] : onlyMetrics },
    {
      path: ["spec", "egress"],
      text: hasStores
        ? "The API server, the object stores and DNS: no selector can match their addresses."
        : apiServerText,
    },
  )
}

const onlyMetrics = "Replicas serve health and metrics only. Probes come from the node, which no policy blocks."

const ingress = (settings: ManifestSettings): ReadonlyArray<{ readonly [key: string]: Json }> => {
  const ports = [{ protocol: "TCP", port: httpPort }]
  const ofPrometheus = settings.monitoring ? [ingressOfPrometheus(settings.monitoringNamespace, httpPort)] : []
  if (settings.replicas !== undefined) return ofPrometheus
  if (settings.authentication.tag !== "none") return [{ ports }]
  const blocks = settings.allowedBlocks.map((cidr) => ({ ipBlock: { cidr } }))
  const clients = { from: [{ podSelector: { matchLabels: clientLabel } }, ...blocks], ports }
  return [clients, ...ofPrometheus]
}

/**
 * A recording in an emptyDir is lost with its pod, so a drain must not evict the pod; a recording on a claim is continued on another
 * node. An unhealthy recorder never blocks a drain.
 */
const disruptionBudget = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: metadataOf(settings),
      spec: {
        maxUnavailable: settings.volume.isClaim || settings.replicas !== undefined ? 1 : 0,
        unhealthyPodEvictionPolicy: "AlwaysAllow",
        selector: { matchLabels: selectorOf(settings) },
      },
    },
    {
      path: ["spec", "maxUnavailable"],
      text: settings.replicas
        ? "What a replica recorded is in the store, and others take its shards over."
        : settings.volume.isClaim
          ? "The recording is on a claim: it continues wherever the pod is started again."
          : "The recording is lost with the pod: a drain waits until someone has exported it and deleted the pod.",
    },
  )

// The recorder's ServiceAccount and its permissions.

/** ClusterRole and Roles with their bindings: only what the configuration needs. */
const roles = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const { cluster, namespaces } = settings.permissions
  const account = { namespace: settings.namespace, name: accountOf(settings) }
  const bound = (namespace: string | undefined, rules: ReadonlyArray<Rule>) =>
    boundRole({ name: settings.name, namespace, labels: labelsOf(settings) }, rules, account)
  return [
    ...(cluster.length === 0 ? [] : bound(undefined, cluster)),
    ...namespaces.flatMap(({ namespace, rules }) => bound(namespace, rules)),
  ]
}

/**
 * With `--auth kubernetes`: the Role that lets users export and see what is recorded. It is not bound to anyone by default.
 */
const exporters = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: {
        name: `${settings.name}-export`,
        namespace: settings.namespace,
        labels: labelsOf(settings),
      },
      rules: [
        { apiGroups: ["kubereel.dev"], resources: ["exports"], verbs: ["create", "get"] },
        {
          apiGroups: [""],
          resources: ["services/proxy"],
          resourceNames: [settings.name, settings.lease].flatMap((name) =>
            name === undefined ? [] : [`${name}:http`],
          ),
          // The API server checks create for an export, which is a POST, get for a question of the past, and delete for a pin that is removed.
          verbs: ["create", "delete", "get"],
        },
      ],
    },
    {
      path: ["rules", 0],
      text: "create permits exports, get permits reading what is recorded. No such objects exist.",
    },
    {
      path: ["rules", 1],
      text: "for --in-cluster, through the API server; the recorder still requires the rule above",
    },
  )

/**
 * With `--auth kubernetes`: the ClusterRole that lets users, and Alertmanager, see and change which windows are kept. A path is in no namespace. It is not bound to anyone either.
 */
const pinners = (settings: ManifestSettings): Manifest =>
  manifest(
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: `${settings.name}-pins`, labels: labelsOf(settings) },
      rules: [{ nonResourceURLs: ["/v1/pins"], verbs: ["create", "delete", "get"] }],
    },
    { path: ["rules", 0], text: "create permits pinning, delete removing pins; Alertmanager needs create alone" },
  )

/** Permission to create Events for its own pod; it needs nothing else in its namespace. */
const ownEvents = ({ name, namespace, version, ...more }: ManifestSettings): ReadonlyArray<Manifest> =>
  boundRole(
    { name: `${name}-events`, namespace, labels: labelsOf({ name, version }) },
    [
      {
        apiGroups: ["events.k8s.io"],
        resources: ["events"],
        verbs: ["create"],
        reason:
          "Events about an invalid configuration, on the recorder's own pod; without it, only the log and the metrics report it",
      },
    ],
    { namespace, name: accountOf({ name, ...more }) },
  )

/** Permission to hold the Lease. RBAC cannot restrict `create` to a name. */
const leaseHolding = ({ lease, replicas, ...settings }: ManifestSettings): ReadonlyArray<Manifest> => {
  const { name, namespace } = settings
  const group = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] } as const
  const reason = "The Lease that chooses the recorder that records; without it, none records"
  const shared = "The Leases of the replicas and of their shards, whose names are not known before"
  if (lease === undefined && replicas === undefined) return []
  return boundRole(
    { name: `${name}-lease`, namespace, labels: labelsOf(settings) },
    lease === undefined
      ? [{ ...group, verbs: ["create", "delete", "get", "list", "update"], reason: shared }]
      : [
          { ...group, resourceNames: [lease], verbs: ["get", "update"], reason },
          { ...group, verbs: ["create"], reason: "The Lease itself, once" },
        ],
    { namespace, name: accountOf(settings) },
  )
}

// Objects for the Prometheus operator and Grafana.

const credentials = (authentication: Authentication) => {
  switch (authentication.tag) {
    case "none":
      return {}
    case "kubernetes":
      // Prometheus' own token, which usually has permission to get /metrics.
      return { bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" }
    case "token":
      // A separate key, because a file with several tokens cannot be used as a header.
      return { authorization: { credentials: { name: authentication.secret.name, key: metricsKey } } }
  }
}

/** All replicas together record fewer shards than there are. */
const shardAlert = {
  alert: "KubereelShardNotRecorded",
  expr: "sum by (namespace, job) (kubereel_leader) < max by (namespace, job) (kubereel_shards)",
  for: "5m",
  labels: { severity: "critical" },
  annotations: {
    summary: "A shard of the cluster has no recorder.",
    description:
      "The API server keeps changes for about 5 minutes. /readyz of the replicas and their logs say why a recorder does not start, or which stream it cannot continue.",
  },
}

const monitoringManifests = (settings: ManifestSettings): ReadonlyArray<Manifest> => {
  const { name, namespace } = settings
  const labels = labelsOf(settings)
  return [
    manifest({
      apiVersion: "monitoring.coreos.com/v1",
      kind: "ServiceMonitor",
      metadata: { name, namespace, labels },
      spec: {
        selector: { matchLabels: selectorOf(settings) },
        endpoints: [
          {
            port: "http",
            path: "/metrics",
            interval: "15s",
            ...credentials(settings.authentication),
          },
        ],
      },
    }),
    prometheusRule({ name, namespace, labels }, "kubereel", settings.replicas ? [...alerts, shardAlert] : alerts),
    grafanaDashboard({ name, namespace, labels }, "kubereel.json", dashboard),
  ]
}

/** Pure. */
export const manifestsFor = (settings: ManifestSettings): ReadonlyArray<Manifest> => [
  namespaceManifest(settings.namespace, labelsOf(settings)),
  ...(settings.serviceAccount === undefined ? [serviceAccount(metadataOf(settings))] : []),
  ...roles(settings),
  ...ownEvents(settings),
  ...leaseHolding(settings),
  ...(settings.authentication.tag === "kubernetes" && settings.replicas === undefined
    ? [exporters(settings), pinners(settings)]
    : []),
  configMap(settings),
  ...(settings.volume.isClaim && settings.replicas === undefined
    ? [volumeClaim(metadataOf(settings), settings.volume)]
    : []),
  service(settings),
  ...(settings.lease === undefined ? [] : [leaseService(settings, settings.lease)]),
  recorderDeployment(settings),
  disruptionBudget(settings),
  network(settings),
  ...(settings.monitoring ? monitoringManifests(settings) : []),
]
