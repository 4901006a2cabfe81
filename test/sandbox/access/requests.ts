/** A sandbox with authorization, and plain requests to it as one user or another. */

import { request } from "node:http"
import { onTestFinished } from "vitest"
import { Sandbox, type SandboxOptions } from "../../../src/library/sandbox.ts"

export interface Answer {
  readonly status: number
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look at members of any response.
  readonly body: any
}

export interface Asked {
  readonly method?: string
  readonly body?: object
  /** A bearer token; `""` sends none. Default: the sandbox's own. */
  readonly token?: string
  /** Whom to impersonate. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly contentType?: string
}

export type Ask = (path: string, asked?: Asked) => Promise<Answer>

export const rbac = "/apis/rbac.authorization.k8s.io/v1"

/** Closed with the test. */
export const withAuthorization = async (
  options: SandboxOptions = {},
): Promise<{ readonly sandbox: Sandbox; readonly ask: Ask }> => {
  const sandbox = await Sandbox.start({ authorization: "rbac", ...options })
  onTestFinished(() => sandbox.close())
  return { sandbox, ask: askOf(sandbox) }
}

const askOf =
  (sandbox: Sandbox): Ask =>
  (path, { method, body, token = sandbox.token ?? "", as, headers = {}, contentType = "application/json" } = {}) =>
    new Promise((resolve, reject) => {
      const sent = request(
        sandbox.url + path,
        {
          method: method ?? (body === undefined ? "GET" : "POST"),
          agent: false,
          headers: {
            ...(token !== "" && { Authorization: `Bearer ${token}` }),
            ...(as !== undefined && { "Impersonate-User": as }),
            ...(body !== undefined && { "Content-Type": contentType }),
            ...headers,
          },
        },
        (response) => {
          let text = ""
          response.setEncoding("utf8")
          response.on("data", (part: string) => {
            text += part
            // A watch does not end by itself.
            if (path.includes("watch=1")) response.destroy()
          })
          response.on("error", () => undefined)
          response.on("close", () => resolve({ status: response.statusCode ?? 0, text, body: parsed(text) }))
          if (path.includes("watch=1") && response.statusCode === 200) response.destroy()
        },
      )
      sent.on("error", reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Plain text.
    return undefined
  }
}

/** Creates a ClusterRole with these rules and binds it to a user, in a namespace or in the whole cluster. */
export const grant = async (
  ask: Ask,
  user: string,
  rules: ReadonlyArray<object>,
  namespace?: string,
): Promise<void> => {
  const name = `${user}-${namespace ?? "all"}`
  await ask(`${rbac}/clusterroles`, { body: { metadata: { name }, rules } })
  const place = namespace === undefined ? "clusterrolebindings" : `namespaces/${namespace}/rolebindings`
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name }
  const { status } = await ask(`${rbac}/${place}`, {
    body: { metadata: { name }, roleRef, subjects: [{ kind: "User", name: user }] },
  })
  if (status !== 201) throw new Error(`the binding of ${name} was refused: ${status}`)
}

/** The body of a request for a token, and its token. */
export const requestToken = async (ask: Ask, account: string, spec: object = {}): Promise<string> => {
  const [namespace, name] = account.split("/")
  const { body } = await ask(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { body: { spec } })
  return body.status.token
}
