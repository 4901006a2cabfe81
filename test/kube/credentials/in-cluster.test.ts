import { describe, expect, test } from "vitest"
import { makeCertificates } from "../certificates.ts"
import { authorizationOf, errorOf, kubeconfig, load, ManualClock, Workspace } from "./workspace.ts"

const { authority } = makeCertificates()

const pod = (): { workspace: Workspace; environment: Record<string, string>; serviceAccountDirectory: string } => {
  const workspace = new Workspace()
  workspace.write("account/token", "pod-token")
  workspace.write("account/ca.crt", authority)
  workspace.write("account/namespace", "recorders\n")
  const environment = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" }
  return { workspace, environment, serviceAccountDirectory: workspace.path("account") }
}

describe("in a pod", () => {
  test("the service account is used, its namespace is the default, and its token is read again", async () => {
    const { workspace, ...options } = pod()
    const clock = new ManualClock()
    const credentials = await load({ ...options, clock })
    expect(await credentials.endpoint()).toEqual({
      server: "https://10.0.0.1",
      certificateAuthority: authority,
      prefersPlain: true,
      headers: [["Authorization", "Bearer pod-token"]],
    })
    expect(credentials.defaultNamespace).toBe("recorders")
    expect(credentials.description).toBe(
      'context "in-cluster" (cluster "in-cluster", user "service account") at https://10.0.0.1',
    )
    expect(credentials.refreshAfter).toBe(60_000)
    workspace.write("account/token", "renewed")
    clock.advance(60_000)
    expect(await authorizationOf(credentials)).toBe("Bearer renewed")
    workspace.write("account/token", "again")
    await credentials.onUnauthorized()
    expect(await authorizationOf(credentials)).toBe("Bearer again")
  })

  test("an IPv6 service address gets its brackets", async () => {
    const { environment, serviceAccountDirectory } = pod()
    const ipv6 = { ...environment, KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "6443" }
    const credentials = await load({ environment: ipv6, serviceAccountDirectory })
    expect((await credentials.endpoint()).server).toBe("https://[fd00::1]:6443")
  })

  test("a kubeconfig takes precedence over the service account", async () => {
    const { workspace, environment, serviceAccountDirectory } = pod()
    const KUBECONFIG = workspace.write("config", kubeconfig({ token: "file" }))
    const credentials = await load({ environment: { ...environment, KUBECONFIG }, serviceAccountDirectory })
    expect(await authorizationOf(credentials)).toBe("Bearer file")
    const missing = { ...environment, KUBECONFIG: workspace.path("missing") }
    expect(await authorizationOf(await load({ environment: missing, serviceAccountDirectory }))).toBe(
      "Bearer pod-token",
    )
  })

  test("there is exactly one context", async () => {
    const { workspace: _kept, ...options } = pod()
    expect((await errorOf(load({ ...options, context: "prod" }))).message).toContain("existing contexts: in-cluster")
    expect(await authorizationOf(await load({ ...options, context: "in-cluster" }))).toBe("Bearer pod-token")
  })

  test("without a service account, or outside a pod, it is not tried", async () => {
    const { environment, serviceAccountDirectory } = pod()
    expect((await errorOf(load({ environment })))._tag).toBe("NoClusterConfigured")
    expect((await errorOf(load({ serviceAccountDirectory })))._tag).toBe("NoClusterConfigured")
  })
})
