/** What a driver needs from others: metrics from the Prometheus operator, and the certificate that the controller makes. */
import { X509Certificate } from "node:crypto"
import { expect, test } from "vitest"
import type { ApiObject, Kind } from "../../../src/kube/index.ts"
import { definitions, driverNamespace, SimulatedCluster } from "./simulated.ts"

const metrics = { remoteWriteConfigs: [{ url: "http://rw:1234/receive" }] }

const kindOf = (group: string, kind: string, plural: string): Kind => ({
  gvk: { group, version: "v1", kind },
  plural,
  namespaced: true,
})
const prometheuses = kindOf("monitoring.coreos.com", "Prometheus", "prometheuses")

const install = async (cluster: SimulatedCluster, { gvk: { group, kind }, plural }: Kind): Promise<void> => {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const versions = [
    { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: open } },
  ]
  await cluster.living.api.create(definitions, {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, names: { plural, kind }, scope: "Namespaced", versions },
  } as ApiObject)
}

const webhook = (cluster: SimulatedCluster): { readonly caBundle?: string } | undefined => {
  const found = cluster.living.sandbox.get(
    "admissionregistration.k8s.io/v1.MutatingWebhookConfiguration",
    "",
    "sk-demo-mutatepods",
  ) as { readonly webhooks?: ReadonlyArray<{ readonly clientConfig: { readonly caBundle?: string } }> } | undefined
  return found?.webhooks?.[0]?.clientConfig
}

test("without the operator a simulation runs without metrics, and says so; their namespace need not exist (W-54)", async () => {
  const cluster = await SimulatedCluster.simulating("demo", { metrics })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.condition("demo", "MetricsAvailable")).toBe("False OperatorMissing")
})

test("with the operator a simulation waits for its Prometheus", async () => {
  const cluster = await SimulatedCluster.start()
  await install(cluster, prometheuses)
  await cluster.createNamespace("monitoring")
  await cluster.control()
  await cluster.create("demo", { metrics })
  await cluster.until(() => cluster.condition("demo", "Progressing") === "True WaitingForMetrics")
  expect(cluster.status("demo").state).toBe("Initializing")
  const place = { namespace: "monitoring", name: "sk-demo-prom" }
  const status = { availableReplicas: 1 }
  await cluster.living.api.patch(prometheuses, place, "merge", { status }, { subresource: "status" })
  await cluster.until(() => cluster.status("demo").state === "Running")
  expect(cluster.condition("demo", "MetricsAvailable")).toBe("True PrometheusAvailable")
})

test("a namespace for metrics that does not exist is a failure that names it", async () => {
  const cluster = await SimulatedCluster.start()
  await install(cluster, prometheuses)
  await cluster.control()
  await cluster.create("demo", { metrics })
  await cluster.settles("demo", "Failed")
  expect(cluster.message("demo", "Ready")).toContain("the namespace monitoring of spec.metrics does not exist")
})

test("the controller makes a certificate for the driver's Service that the webhook trusts", async () => {
  const cluster = await SimulatedCluster.controlled()
  // SimKube's manifests name an issuer of cert-manager, which is not needed here.
  const place = { namespace: driverNamespace, image: "driver", port: 8888, tracePath: "s3://traces/demo.sktrace" }
  await cluster.create("demo", { driver: { ...place, certManagerIssuer: "corporate" } })
  await cluster.until(() => cluster.status("demo").state === "Running")
  const secret = cluster.living.sandbox.get("v1.Secret", driverNamespace, "sk-demo-driver-cert") as unknown as {
    readonly data: Readonly<Record<string, string>>
  }
  const [authority, certificate] = [webhook(cluster)?.caBundle ?? "", secret.data["tls.crt"] ?? ""].map(
    (text) => new X509Certificate(Buffer.from(text, "base64")),
  )
  expect(certificate?.checkHost("sk-demo-driver-svc.drivers.svc")).toBeDefined()
  expect(authority && certificate?.verify(authority.publicKey)).toBe(true)
})
