/** The pod of the recorder that a page has installed as `kubereel/kubereel`: a process of this machine with its account's token. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parse, stringify } from "yaml"
import { RecorderProcess } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import type { TestCluster } from "../guard.ts"
import { StandInPod } from "../k8s/stand-in-pod.ts"

const namespace = "kubereel"

export class RecorderPod {
  readonly #process: RecorderProcess
  readonly #pod: StandInPod

  private constructor(process: RecorderProcess, pod: StandInPod) {
    this.#process = process
    this.#pod = pod
  }

  /** Returns once the Service leads to it. @param directory for its files. */
  static async start(cluster: TestCluster, directory: string): Promise<RecorderPod> {
    const at = (...words: string[]): Promise<string> => kubectl(cluster, "-n", namespace, ...words)
    // Its pod would be on a node that only pretends to run it.
    await at("scale", "deployment", "kubereel", "--replicas=0")
    await at("wait", "--for=delete", "pod", "-l", "app.kubernetes.io/name=kubereel", "--timeout=60s")
    const { template } = (JSON.parse(await at("get", "deployment", "kubereel", "-o", "json")) as Deployment).spec
    const { data } = JSON.parse(await at("get", "configmap", "kubereel", "-o", "json")) as {
      data: Record<string, string>
    }
    const config = join(directory, "recorder.yml")
    writeFileSync(config, Object.values(data)[0] ?? "")
    const kubeconfig = join(directory, "recorder.kubeconfig")
    writeFileSync(kubeconfig, await kubeconfigWith(cluster, (await at("create", "token", "kubereel")).trim()))
    const words = ["record", "-c", config, "--kubeconfig", kubeconfig, "--data-dir", join(directory, "recorded")]
    const listening = ["--listen", "0.0.0.0:0", "--auth", "kubernetes"]
    const process = new RecorderProcess([...words, ...listening], {})
    await process.ready(60_000)
    const containerPort = Number(new URL(await process.listening()).port)
    const containers = [{ ...template.spec.containers[0], ports: [{ name: "http", containerPort, protocol: "TCP" }] }]
    const { labels } = template.metadata
    const spec = { ...template.spec, containers }
    const pod = await StandInPod.create(cluster, { namespace, name: "kubereel-stand-in", labels, spec })
    await pod.readyFor("kubereel")
    return new RecorderPod(process, pod)
  }

  async stop(): Promise<void> {
    await this.#process.kill()
    await this.#pod.remove()
  }
}

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: { readonly containers: ReadonlyArray<object>; readonly [key: string]: unknown }
    }
  }
}

/** The kubeconfig of the cluster for somebody else. */
const kubeconfigWith = async (cluster: TestCluster, token: string): Promise<string> => {
  const given = parse(await kubectl(cluster, "config", "view", "--raw", "--flatten", "-o", "yaml")) as {
    readonly clusters: ReadonlyArray<{ readonly name: string }>
  }
  return stringify({
    ...{ apiVersion: "v1", kind: "Config", clusters: given.clusters },
    users: [{ name: "recorder", user: { token } }],
    contexts: [{ name: "recorder", context: { cluster: given.clusters[0]?.name, user: "recorder", namespace } }],
    "current-context": "recorder",
  })
}
