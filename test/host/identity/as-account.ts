/** A sandbox with authorization whose host is a user of its own, a ServiceAccount to act as, and its rights. */

import { onTestFinished } from "vitest"
import { ApiClient, type EndpointSource } from "../../../src/kube/index.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"

const group = "rbac.authorization.k8s.io"

export interface Rule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

export const makeTokens: Rule = { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] }
export const impersonate: Rule = { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] }
export const review: Rule = {
  apiGroups: ["authorization.k8s.io"],
  resources: ["subjectaccessreviews"],
  verbs: ["create"],
}
export const read = (resource: string, ...verbs: ReadonlyArray<string>): Rule => ({
  apiGroups: [""],
  resources: [resource],
  verbs: verbs.length === 0 ? ["get", "list", "watch"] : verbs,
})

export const account = { namespace: "default", name: "bot" }

/** `hostRules`: of the host, in the whole cluster. Everything is closed with the test. */
export const start = async (hostRules: ReadonlyArray<Rule>) => {
  const clock = new ManualClock()
  const users = [{ token: "host", username: "host" }]
  const sandbox = await Sandbox.start({ clock, authorization: "rbac", users, bookmarkInterval: 0 })
  const bind = (name: string, rules: ReadonlyArray<Rule>, subject: object, namespace?: string): void => {
    sandbox.put(`${group}/v1.ClusterRole`, { metadata: { name }, rules } as never)
    const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding"
    sandbox.put(`${group}/v1.${kind}`, {
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      roleRef: { apiGroup: group, kind: "ClusterRole", name },
      subjects: [subject],
    } as never)
  }
  const createAccount = () => sandbox.put("v1.ServiceAccount", { metadata: account })
  createAccount()
  const setHostRules = (rules: ReadonlyArray<Rule>): void =>
    bind("host", rules, { kind: "User", apiGroup: group, name: "host" })
  setHostRules(hostRules)
  const host = new HostCredentials(sandbox.url)
  const client = new ApiClient({ server: host, userAgent: "kubereel/host" })
  onTestFinished(async () => {
    client.close()
    await sandbox.close()
  })
  const grant = (rules: ReadonlyArray<Rule>, namespace?: string): void =>
    bind(`bot-${namespace ?? "all"}`, rules, { kind: "ServiceAccount", ...account }, namespace)
  const tokenRequests = (): number => sandbox.requests.count({ verb: "create", resource: "serviceaccounts" })
  return { clock, sandbox, client, host, createAccount, setHostRules, grant, tokenRequests }
}

/** The host's own credentials: a token, and the certificate that it must not lend to others. */
export class HostCredentials implements EndpointSource {
  unauthorized = 0
  #endpoint: { server: string; headers: ReadonlyArray<readonly [string, string]> }

  constructor(server: string) {
    this.#endpoint = { server, headers: [["Authorization", "Bearer host"]] }
  }

  endpoint() {
    return Promise.resolve(this.#endpoint)
  }

  /** The same server and token, as another object: as after a refresh. */
  renew(): void {
    this.#endpoint = { ...this.#endpoint }
  }

  onUnauthorized(): Promise<void> {
    this.unauthorized++
    return Promise.resolve()
  }
}
