/** The permissions of the recorder's account: what its configuration needs, and nothing else. */
import { afterAll, describe, expect, test } from "vitest"
import { printed } from "../printed.ts"
import { ConfigurationFile, clusterIdentity, rightsOf } from "../rights.ts"

const configuration = new ConfigurationFile()
afterAll(() => configuration.close())

/** Of the recorder's ClusterRole or Role. */
const rights = async (kind: string, ...words: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  (await printed("--offline", "--auth", "none", ...words)).named(kind, "kubereel").flatMap(rightsOf)

describe("the permissions", () => {
  test("are to list and watch recorded kinds, and to get owners that are not recorded", async () => {
    const config = configuration.write("v1.Pod: {}", "apps/v1.ReplicaSet: {}")
    expect(await rights("ClusterRole", "-c", config)).toEqual([
      "list,watch /pods",
      "list,watch apps/replicasets",
      "get /nodes",
      "get /replicationcontrollers",
      "get apps/daemonsets",
      "get apps/deployments",
      "get apps/statefulsets",
      "get batch/cronjobs",
      "get batch/jobs",
      clusterIdentity,
    ])
  })

  test("are one rule if every kind is recorded, in the cluster or in each namespace", async () => {
    const config = configuration.write('"*": {}', "apps/v1.Deployment: {trackLifecycle: true}")
    expect(await rights("ClusterRole", "-c", config)).toEqual(["get,list,watch */*"])
    const restricted = await printed("--offline", "--auth", "none", "-c", config, "--record-namespace", "shop")
    expect(restricted.named("Role", "kubereel").flatMap(rightsOf)).toEqual(["get,list,watch */*"])
  })

  test("include pods if lifecycles are tracked and pods are not recorded", async () => {
    const config = configuration.write("batch/v1.CronJob: {trackLifecycle: true}")
    expect(await rights("ClusterRole", "-c", config)).toEqual([
      "list,watch /pods",
      "list,watch batch/cronjobs",
      "get /nodes",
      "get /replicationcontrollers",
      "get apps/daemonsets",
      "get apps/deployments",
      "get apps/replicasets",
      "get apps/statefulsets",
      "get batch/jobs",
      clusterIdentity,
    ])
  })

  test("do not include owners for kinds that nothing owns", async () => {
    const config = configuration.write("v1.ConfigMap: {}", "v1.Namespace: {}")
    expect(await rights("ClusterRole", "-c", config)).toEqual([
      "list,watch /configmaps",
      "list,watch /namespaces",
      clusterIdentity,
    ])
  })

  test("include owners that are recorded only in part", async () => {
    const whole = await rights(
      "ClusterRole",
      "-c",
      configuration.write("apps/v1.ReplicaSet: {}", "apps/v1.Deployment: {}"),
    )
    expect(whole).not.toContain("get apps/deployments")
    const part = configuration.write("apps/v1.ReplicaSet: {}", "apps/v1.Deployment: {labelSelector: app=web}")
    expect(await rights("ClusterRole", "-c", part)).toContain("get apps/deployments")
  })

  test("include configured owner kinds, and the possible owners of those", async () => {
    const config = configuration.write("v1.ConfigMap: {}")
    expect(await rights("ClusterRole", "-c", config, "--owner-kind", "apps/v1.ReplicaSet")).toEqual([
      "list,watch /configmaps",
      "get apps/deployments",
      "get apps/replicasets",
      clusterIdentity,
    ])
  })

  test("stay within the only recorded namespace", async () => {
    const config = configuration.write("v1.Pod: {}")
    const output = await printed("--offline", "--auth", "none", "-c", config, "--record-namespace", "shop")
    expect(output.objects.filter(({ kind }) => kind.startsWith("ClusterRole"))).toEqual([])
    const roles = output.named("Role", "kubereel")
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(["shop"])
    expect(roles.flatMap(rightsOf)).toEqual([
      "list,watch /pods",
      // Not nodes: they are in no namespace.
      "get /replicationcontrollers",
      "get apps/daemonsets",
      "get apps/deployments",
      "get apps/replicasets",
      "get apps/statefulsets",
      "get batch/cronjobs",
      "get batch/jobs",
    ])
    expect(output.named("RoleBinding", "kubereel")).toEqual([
      expect.objectContaining({
        metadata: expect.objectContaining({ namespace: "shop" }),
        subjects: [{ kind: "ServiceAccount", name: "kubereel", namespace: "kubereel" }],
      }),
    ])
    expect(output.one("Deployment").spec.template.spec.containers[0].args).toContain("--namespace=shop")
  })

  test("are a Role and its binding in each of several namespaces, and no ClusterRole", async () => {
    const config = configuration.write("v1.Pod: {}", "v1.ConfigMap: {namespaces: [stock]}")
    const words = ["--offline", "--auth", "none", "-c", config, "--record-namespace", "shop,stock"]
    const { objects, named } = await printed(...words)
    expect(objects.filter(({ kind }) => kind.startsWith("ClusterRole"))).toEqual([])
    const roles = named("Role", "kubereel")
    expect(
      roles.map((role) => [role.metadata.namespace, rightsOf(role).filter((right) => /^list/.test(right))]),
    ).toEqual([
      ["shop", ["list,watch /pods"]],
      ["stock", ["list,watch /configmaps", "list,watch /pods"]],
    ])
    for (const role of roles) expect(rightsOf(role)).toContain("get apps/replicasets")
    const bindings = named("RoleBinding", "kubereel")
    expect(bindings.map(({ metadata, subjects }) => [metadata.namespace, subjects])).toEqual(
      ["shop", "stock"].map((namespace) => [
        namespace,
        [{ kind: "ServiceAccount", name: "kubereel", namespace: "kubereel" }],
      ]),
    )
  })

  test("are split if some kinds are recorded in one namespace and others everywhere", async () => {
    const config = configuration.write(
      "v1.ConfigMap: {namespaces: [shop]}",
      "v1.Node: {}",
      "v1.Secret: {namespaces: [shop]}",
    )
    const output = await printed("--offline", "--auth", "none", "-c", config)
    expect(rightsOf(output.one("ClusterRole"))).toEqual(["list,watch /nodes", clusterIdentity])
    expect(output.named("Role", "kubereel").flatMap(rightsOf)).toEqual([
      "list,watch /configmaps",
      "list,watch /secrets",
    ])
  })

  test("include reviews with --auth kubernetes only", async () => {
    const reviews = ["create authentication.k8s.io/tokenreviews", "create authorization.k8s.io/subjectaccessreviews"]
    expect(await rights("ClusterRole")).not.toEqual(expect.arrayContaining(reviews))
    expect(await rights("ClusterRole", "--auth", "kubernetes")).toEqual([...(await rights("ClusterRole")), ...reviews])
    const output = await printed("--offline", "--record-namespace", "shop")
    expect(output.named("ClusterRole", "kubereel").flatMap(rightsOf)).toEqual(reviews)
  })

  test("include posting Events in the recorder's own namespace, and nothing else there", async () => {
    const { named } = await printed("--offline", "--name", "second", "--namespace", "elsewhere")
    const [role, ...others] = named("Role", "second-events")
    expect({ others, rules: role?.rules, namespace: role?.metadata.namespace }).toEqual({
      others: [],
      rules: [{ apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create"] }],
      namespace: "elsewhere",
    })
    expect(named("RoleBinding", "second-events")).toEqual([
      expect.objectContaining({
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "second-events" },
        subjects: [{ kind: "ServiceAccount", name: "second", namespace: "elsewhere" }],
      }),
    ])
  })

  test("never contain a wildcard, nor a verb that changes what is recorded", async () => {
    for (const right of await rights("ClusterRole")) expect(right).toMatch(/^(?:get|list,watch) [^*]+$/)
  })
})
