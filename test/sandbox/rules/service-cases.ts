import { app, service, services } from "./manifests.ts"
import { create, update } from "./rules-case.ts"

export const serviceCases = [
  create(services, "minimal service", service()),
  create(
    services,
    "service with ports",
    service({
      ports: [
        { name: "a", port: 80, targetPort: "http" },
        { name: "b", port: 81, protocol: "UDP" },
      ],
    }),
  ),
  create(services, "headless service", service({ clusterIP: "None" })),
  create(services, "headless service without ports", { spec: { clusterIP: "None", selector: app } }),
  create(services, "node port service", service({ type: "NodePort" })),
  create(services, "load balancer service", service({ type: "LoadBalancer" })),
  create(services, "external name service", { spec: { type: "ExternalName", externalName: "example.com" } }),
  create(services, "service with affinity", service({ sessionAffinity: "ClientIP" })),
  create(services, "service with a status", {
    ...service(),
    status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } },
  }),
  create(services, "service without ports", { spec: {} }),
  create(
    services,
    "service of bad ports",
    service({
      ports: [
        { port: 0 },
        { name: "A", port: 99999, targetPort: 0, protocol: "X" },
        { name: "a", port: 1 },
        { name: "a", port: 1 },
      ],
    }),
  ),
  create(services, "service of a bad name", { metadata: { name: "1a" }, ...service() }),
  create(services, "service of a bad type", service({ type: "X", sessionAffinity: "Y" })),
  create(services, "service of a bad cluster IP", service({ clusterIP: "1.2.3" })),
  create(services, "service out of range", service({ clusterIP: "192.168.1.1" })),
  create(services, "external name without a name", { spec: { type: "ExternalName" } }),
  create(services, "external name with a bad name", { spec: { type: "ExternalName", externalName: "A b" } }),
  create(services, "service with a bad selector", service({ selector: { "a b": "c" } })),
  create(services, "node port on a cluster IP", service({ ports: [{ port: 80, nodePort: 30_001 }] })),
  update(services, "service's port changed", service(), { spec: { ports: [{ port: 81 }] } }),
  update(services, "service's cluster IP changed", service(), {
    spec: { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77"] },
  }),
  update(services, "service made headless", service(), { spec: { clusterIP: "None" } }),
  update(services, "service made a node port", service(), { spec: { type: "NodePort" } }),
  update(services, "service made external", service(), { spec: { type: "ExternalName", externalName: "a.b" } }),
]
