/** The kubeconfig of a served past: a context for each named moment. */
import { kubeconfigOfContexts } from "../../kube/offline.ts"
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
  kubeconfigOfContexts({
    contexts: contexts.map(({ name, moment }) => ({
      name,
      server: moment === undefined ? server : `${server}${pathOfMoment(moment)}`,
    })),
    user: historyUser,
    token,
    authority,
  })
