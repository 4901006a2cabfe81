/** The ways in which clients reach a sandbox, each with the kubeconfig of @kubernetes/client-node. */

import { type Cluster, KubeConfig, type User } from "@kubernetes/client-node"
import { Sandbox, type SandboxOptions } from "../../../src/library/sandbox.ts"
import { type Certificates, makeCertificates } from "../../kube/certificates.ts"

export interface Connection {
  readonly name: string
  readonly open: (options?: SandboxOptions) => Promise<{ readonly sandbox: Sandbox; readonly config: KubeConfig }>
}

const base64 = (text: string): string => Buffer.from(text).toString("base64")

const configOf = (sandbox: Sandbox, cluster: Partial<Cluster>, user: Partial<User>): KubeConfig => {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{ name: "sandbox", server: sandbox.url, skipTLSVerify: false, ...cluster }],
    users: [{ name: "tester", ...user }],
    contexts: [{ name: "sandbox", cluster: "sandbox", user: "tester" }],
    currentContext: "sandbox",
  })
  return config
}

let made: Certificates | undefined
const certificates = (): Certificates => {
  made ??= makeCertificates()
  return made
}

export const overHttp: Connection = {
  name: "HTTP",
  open: async (options = {}) => {
    const sandbox = await Sandbox.start(options)
    // client-node refuses plain HTTP without this.
    return { sandbox, config: configOf(sandbox, { skipTLSVerify: true }, {}) }
  },
}

export const connections: ReadonlyArray<Connection> = [
  overHttp,
  {
    name: "HTTPS with a bearer token",
    open: async (options = {}) => {
      const { server, authority } = certificates()
      const tls = { key: server.key, cert: server.certificate, ca: authority }
      const sandbox = await Sandbox.start({ ...options, tls, token: "let-me-in" })
      return { sandbox, config: configOf(sandbox, { caData: base64(authority) }, { token: "let-me-in" }) }
    },
  },
  {
    name: "HTTPS with a client certificate",
    open: async (options = {}) => {
      const { server, authority, client } = certificates()
      const tls = { key: server.key, cert: server.certificate, ca: authority, requestCert: true }
      const sandbox = await Sandbox.start({ ...options, tls })
      const user = { certData: base64(client.certificate), keyData: base64(client.key) }
      return { sandbox, config: configOf(sandbox, { caData: base64(authority) }, user) }
    },
  },
]
