/** What the manifests of the controller of Simulations guarantee: rights that its definition needs and no others, and a pod like all of ours. */
import { describe, expect, test } from "vitest"
import { simulationDefinitions } from "../../../src/simulation/index.ts"
import { printed } from "../printed.ts"
import { rightsOf } from "../rights.ts"

const account = "kubereel-simulation-controller"

describe("the rights of the controller", () => {
  test("are those of its definition, and to bind the role of drivers", async () => {
    const { named } = await printed("--simulation", "--namespace", "simulations")
    const [role] = named("ClusterRole", account)
    expect(role && rightsOf(role)).toEqual([
      "create,patch /events",
      "get,create /namespaces",
      "get,list,watch /pods",
      "create /secrets",
      "create /serviceaccounts",
      "get,create /services",
      "get,create,patch,delete admissionregistration.k8s.io/mutatingwebhookconfigurations",
      "get,list,watch,create,delete batch/jobs",
      "get,create monitoring.coreos.com/prometheuses",
      "create rbac.authorization.k8s.io/clusterrolebindings",
      "bind rbac.authorization.k8s.io/clusterroles kubereel-simulation-driver",
      "get,list,watch,create,delete simkube.io/simulationroots",
      "update simkube.io/simulationroots/finalizers",
      "update simkube.io/simulations/finalizers",
      "get,list,watch,patch simkube.io/simulations",
      "patch simkube.io/simulations/status",
    ])
    const [leases] = named("Role", account)
    expect(leases?.metadata.namespace).toBe("simulations")
    expect(leases && rightsOf(leases)).toEqual(["get,list,watch,create,update,patch,delete coordination.k8s.io/leases"])
  })

  test("are each explained by a comment", async () => {
    const { text, named } = await printed("--simulation")
    const rules = named("ClusterRole", account)[0]?.rules as ReadonlyArray<unknown>
    const isRole = (each: string): boolean => each.includes(`\nkind: ClusterRole\nmetadata:\n  name: ${account}\n`)
    const document = text.split("\n---\n").find(isRole) ?? ""
    expect(document.match(/^ {2}# .+\n {2}- apiGroups:/gm)).toHaveLength(rules.length)
  })
})

test("drivers get the rules of every ClusterRole with the label, and one with the label has common workloads", async () => {
  const { named } = await printed("--simulation")
  const [role] = named("ClusterRole", "kubereel-simulation-driver")
  const label = { "kubereel.dev/aggregate-to-simulation-driver": "true" }
  expect(role?.aggregationRule).toEqual({ clusterRoleSelectors: [{ matchLabels: label }] })
  // The API server writes them: rules here would be written back and forth.
  expect(role).not.toHaveProperty("rules")
  const [workloads] = named("ClusterRole", "kubereel-simulation-driver-workloads")
  expect(workloads?.metadata.labels).toMatchObject(label)
  const rights = workloads === undefined ? [] : rightsOf(workloads)
  expect(rights).toContain("get,list,watch,create,patch,delete apps/deployments")
  expect(rights.filter((right) => /secrets|clusterrole|impersonate|\*/.test(right))).toEqual([])
})

test("the kinds come first, then what the Deployment needs, then the Deployment", async () => {
  const { objects } = await printed("--simulation")
  expect(objects.slice(0, 2)).toEqual(simulationDefinitions())
  expect(objects.slice(2).map(({ kind }) => kind)).toEqual([
    "Namespace",
    "ClusterRole",
    "ClusterRole",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Deployment",
    "NetworkPolicy",
  ])
})

test("several pods of the controller are spread over nodes, and one of them works", async () => {
  const { one } = await printed("--simulation", "--replicas", "2")
  const { replicas, template } = one("Deployment").spec
  expect(replicas).toBe(2)
  expect(template.spec.topologySpreadConstraints).toMatchObject([{ topologyKey: "kubernetes.io/hostname" }])
  const [container] = (await printed("--simulation")).one("Deployment").spec.template.spec.containers
  expect(container.args).toEqual(["controller", "--listen=0.0.0.0:7791"])
})

test("ports of hooks are open, DNS with them, and Prometheus gets in if it is there", async () => {
  const plain = (await printed("--simulation")).one("NetworkPolicy").spec
  expect(plain.ingress).toEqual([])
  expect(plain.egress).toEqual([{ ports: [443, 6443].map((port) => ({ protocol: "TCP", port })) }])
  const { one, text } = await printed("--simulation", "--egress-port", "8080", "--monitoring")
  const { ingress, egress } = one("NetworkPolicy").spec
  expect(egress[0].ports).toContainEqual({ protocol: "TCP", port: 8080 })
  expect(egress[1].ports).toContainEqual({ protocol: "UDP", port: 53 })
  expect(ingress[0].ports).toEqual([{ protocol: "TCP", port: 7791 }])
  expect(text).toContain("what hooks need")
  expect(one("PodMonitor").spec.podMetricsEndpoints).toMatchObject([{ path: "/metrics" }])
})

test("options of the recorder are refused", async () => {
  const { code, error } = await printed("--simulation", "--volume-claim")
  expect(code).toBe(2)
  expect(error).toContain("--volume-claim")
})
