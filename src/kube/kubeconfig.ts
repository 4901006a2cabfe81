/** The kubeconfig of one of our own API servers. */
interface ServedContexts {
  /** The current one first, each with its server: `http://127.0.0.1:8001`, without a trailing slash. */
  readonly contexts: ReadonlyArray<{ readonly name: string; readonly server: string }>
  /** Name of the one user of all contexts. */
  readonly user: string
  /** The one that the server requires; kubectl sends it over HTTPS only. */
  readonly token?: string | undefined
  /** Of the server's certificate, PEM; absent for plain HTTP. */
  readonly authority?: string | undefined
}

/** As JSON, which is also YAML. */
export const kubeconfigOfContexts = ({ contexts, user, token, authority }: ServedContexts): string => {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: contexts.map(({ name, server }) => ({ name, cluster: { server, ...trust(authority) } })),
    users: [{ name: user, user: token === undefined ? {} : { token } }],
    contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user } })),
    "current-context": contexts[0]?.name ?? "",
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}

/** Without TLS there is nothing to verify, but client-node refuses plain HTTP if the setting does not say so. */
const trust = (authority: string | undefined): object =>
  authority === undefined
    ? { "insecure-skip-tls-verify": true }
    : { "certificate-authority-data": Buffer.from(authority).toString("base64") }
