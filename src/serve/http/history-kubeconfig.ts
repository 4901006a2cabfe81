/** The kubeconfig of a served past: a context for each named moment. */
import { pathOfMoment } from "./moment-path.ts"

/** Name of the user in the kubeconfig, by which one that was written here is recognized. */
export const historyUser = "kubereel-history"

interface HistoryContexts {
  /** `http://127.0.0.1:8001`, without a trailing slash. */
  readonly server: string
  /** Names of contexts, the current one first, with the moment of each; absent: the server's own. */
  readonly contexts: ReadonlyArray<{ readonly name: string; readonly moment?: string }>
  /** The one that the server requires; kubectl sends it over HTTPS only. */
  readonly token?: string | undefined
  /** Of the server's certificate, PEM; absent for plain HTTP. */
  readonly authority?: string | undefined
}

/** As JSON, which is also YAML. */
export const historyKubeconfig = ({ server, contexts, token, authority }: HistoryContexts): string =>
  `${JSON.stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: contexts.map(({ name, moment }) => ({
        name,
        cluster: { server: `${server}${moment === undefined ? "" : pathOfMoment(moment)}`, ...trust(authority) },
      })),
      users: [{ name: historyUser, user: token === undefined ? {} : { token } }],
      contexts: contexts.map(({ name }) => ({ name, context: { cluster: name, user: historyUser } })),
      "current-context": contexts[0]?.name ?? "",
    },
    undefined,
    2,
  )}\n`

/** Without TLS there is nothing to verify, but client-node refuses plain HTTP if the setting does not say so. */
const trust = (authority: string | undefined): object =>
  authority === undefined
    ? { "insecure-skip-tls-verify": true }
    : { "certificate-authority-data": Buffer.from(authority).toString("base64") }
