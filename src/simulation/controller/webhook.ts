/** The driver's webhook: its Service, its certificate, and the configuration by which the API server asks it about pods of the replay. */
import { type ControllerCluster, makeServerCertificate, type ServerCertificate } from "../../host/index.ts"
import type { ApiObject } from "../../kube/index.ts"
import { derivedNames } from "../api/derived-names.ts"
import { defaultNamespacePrefix, type Simulation } from "../api/simulation.ts"
import { belonging, certificateSecret } from "./driver-job.ts"
import { createOwn, createShared, isNameTaken } from "./problems.ts"

/**
 * Makes the certificate of the driver's webhook, and has the API server trust it. Secrets are created unread: the controller has no right to read those of others. So an authority is trusted
 * before a certificate of it may be stored, and those of earlier attempts stay trusted, since one of theirs may be stored already.
 */
export const prepareCertificate = async (
  cluster: ControllerCluster,
  simulation: Simulation,
  root: ApiObject,
): Promise<void> => {
  const certificate = newCertificate(simulation, Date.parse(cluster.now()))
  const secret = driverSecret(simulation, root, certificate)
  const wanted = webhookConfiguration(simulation, root, certificate.authority)
  const present = await createOwn<WebhookConfiguration>(cluster, root, wanted)
  const [bundle = ""] = bundlesOf(present)
  if (bundle !== bundlesOf(wanted)[0]) {
    if (await isNameTaken(cluster, secret)) return
    const value = encoded(`${Buffer.from(bundle, "base64").toString()}${certificate.authority}`)
    await cluster.patch(present, "json", [
      // A conflict if someone was faster. A failed "test" would be an invalid request, which is final.
      { op: "replace", path: "/metadata/resourceVersion", value: present.metadata.resourceVersion },
      ...bundlesOf(present).map((_, index) => ({
        op: "add",
        path: `/webhooks/${index}/clientConfig/caBundle`,
        value,
      })),
    ])
  }
  await createShared(cluster, secret)
}

const bundlesOf = ({ webhooks = [] }: WebhookConfiguration): ReadonlyArray<string> =>
  webhooks.map(({ clientConfig }) => clientConfig?.caBundle ?? "")

/** ms. A year: longer than any simulation runs. */
const validForMs = 365 * 86_400_000
/** ms by which the clocks of API server and controller may differ. */
const skewMs = 3_600_000

const hostOf = ({ metadata: { name }, spec }: Simulation): string =>
  `${derivedNames(name).service}.${spec.driver.namespace}.svc`

/** `nowMs`: since the Unix epoch. */
const newCertificate = (simulation: Simulation, nowMs: number): ServerCertificate =>
  makeServerCertificate({ host: hostOf(simulation), notBeforeMs: nowMs - skewMs, notAfterMs: nowMs + validForMs })

/** `root`: the simulation's SimulationRoot, here and below. */
export const driverService = ({ metadata: { name }, spec }: Simulation, root: ApiObject): ApiObject => {
  const { port, namespace } = spec.driver
  const names = derivedNames(name)
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: belonging(name, root, names.service, namespace),
    spec: {
      selector: { "job-name": names.driver },
      ports: [{ name: "webhook", port, targetPort: port, protocol: "TCP" }],
    },
  }
}

/** What the driver's pod mounts. */
const driverSecret = (
  { metadata: { name }, spec }: Simulation,
  root: ApiObject,
  { certificate, key }: ServerCertificate,
): ApiObject => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: belonging(name, root, certificateSecret(name), spec.driver.namespace),
  type: "kubernetes.io/tls",
  data: { "tls.crt": encoded(certificate), "tls.key": encoded(key) },
})

/** As far as the controller reads it. */
interface WebhookConfiguration extends ApiObject {
  readonly webhooks?: ReadonlyArray<{ readonly clientConfig?: { readonly caBundle?: string } }>
}

/** `authority`: PEM. */
const webhookConfiguration = (
  { metadata: { name }, spec }: Simulation,
  root: ApiObject,
  authority: string,
): WebhookConfiguration => {
  const { namespace, port, virtualNsPrefix = defaultNamespacePrefix } = spec.driver
  const names = derivedNames(name)
  const webhook = (operation: string, operations: ReadonlyArray<string>, resources: ReadonlyArray<string>) => ({
    name: `${operation}.mutatepods.simkube.io`,
    clientConfig: {
      service: { namespace, name: names.service, port, path: "/" },
      caBundle: encoded(authority),
    },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources, operations, scope: "Namespaced" }],
    // A prefix that the driver's namespace begins with too would have its own pod wait for it.
    namespaceSelector: {
      matchExpressions: [{ key: "kubernetes.io/metadata.name", operator: "NotIn", values: [namespace] }],
    },
    matchConditions: [
      {
        name: "virtual-namespaces-only",
        expression: `${operations.includes("DELETE") ? "oldObject" : "object"}.metadata.namespace.startsWith('${virtualNsPrefix}-')`,
      },
    ],
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  })
  const pods = ["pods", "pods/status"]
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: belonging(name, root, names.webhook),
    webhooks: [
      webhook("create-update", ["CREATE", "UPDATE"], pods),
      ...(spec.rescheduleInterruptedBarePods === true ? [webhook("delete", ["DELETE"], pods)] : []),
    ],
  }
}

const encoded = (text: string): string => Buffer.from(text).toString("base64")
