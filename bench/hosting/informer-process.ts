/**
 * One controller as a process of its own: an informer of @kubernetes/client-node for each kind, whose call-backs note when a change arrived.
 *
 * Arguments: the port, then for each kind `apiVersion,kind,path`. Prints `{"synced": true}`, then `{"measured": Measured}` for each mark.
 */
import * as k8s from "@kubernetes/client-node"
import { ChangeTally } from "./change-stamp.ts"

const [port = "", ...kinds] = process.argv.slice(2)

const kubeConfig = new k8s.KubeConfig()
kubeConfig.loadFromClusterAndUser(
  { name: "bench", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
  { name: "bench" },
)
const api = k8s.KubernetesObjectApi.makeApiClient(kubeConfig)

const say = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

const tally = new ChangeTally((measured) => say({ measured }))
process.stdin.on("close", () => process.exit(0)).resume()

for (const text of kinds) {
  const [apiVersion = "", kind = "", path = ""] = text.split(",")
  const informer = k8s.makeInformer(kubeConfig, path, () => api.list(apiVersion, kind))
  informer.on("update", (object) => tally.entered(object))
  informer.on("error", (cause) => {
    console.error(cause)
    process.exit(1)
  })
  await informer.start()
}
say({ synced: true })
