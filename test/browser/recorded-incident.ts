/**
 * The demo's incident (src/sandbox/demo), recorded once for all tests: a Deployment is rolled out with an image whose containers crash, and goes back. Vitest's
 * global set-up; tests and the script that makes the guide's pictures take the directory from {@link incidentDirectory}.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemClock } from "../../src/clock.ts"
import { playDemo } from "../../src/sandbox/demo/index.ts"
import { LocalCluster, writeKubeconfig } from "../../src/sandbox/index.ts"
import { configurationOf, RecorderProcess } from "../recorder/recorder/recorder-command.ts"

const variable = "KUBEREEL_TEST_INCIDENT"

/** Every version of each of these, and no more kinds than the incident needs. */
const kinds = [
  ...["apps/v1.Deployment", "apps/v1.ReplicaSet", "apps/v1.StatefulSet", "apps/v1.DaemonSet", "batch/v1.Job"],
  ...["v1.ConfigMap", "v1.Pod", "v1.Node", "v1.Event"],
]

/** The directory of the recording. */
export const incidentDirectory = (): string => process.env[variable] ?? ""

/** Records it; takes some 17 s, because the demo runs in real time. */
export const recordIncident = async (place: string): Promise<string> => {
  await using cluster = await LocalCluster.start({ nodes: 3 })
  const [config, kubeconfig, data] = ["config.yml", "kubeconfig", "data"].map((name) => join(place, name))
  if (config === undefined || kubeconfig === undefined || data === undefined) throw new Error("there is no place")
  await writeFile(config, configurationOf(Object.fromEntries(kinds.map((gvk) => [gvk, "{detect: all}"]))))
  await writeKubeconfig(kubeconfig, cluster.sandbox.url)
  const words = ["--config", config, "--kubeconfig", kubeconfig, "--data-dir", data, "--listen", "0"]
  const recorder = new RecorderProcess(["record", ...words], { cwd: place })
  try {
    await recorder.ready()
    await playDemo({ client: cluster.client, clock: systemClock, announce: () => undefined })
  } finally {
    recorder.child.kill("SIGTERM")
    await recorder.ended
  }
  return data
}

export default async (): Promise<() => Promise<void>> => {
  const place = await mkdtemp(join(tmpdir(), "kubereel-incident-"))
  process.env[variable] = await recordIncident(place)
  return () => rm(place, { recursive: true, force: true })
}
