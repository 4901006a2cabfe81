/**
 * kubectl cannot tell the sandbox from a cluster: one script runs against both, and its output is the same except for
 * ages, times, addresses and hashes. In the sandbox the workload controllers and virtual nodes do what the controller
 * manager, the scheduler and kwok do in the cluster.
 */

import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { Sandbox, WorkloadManager } from "../../../src/sandbox/index.ts"
import { openTestCluster } from "../guard.ts"
import { knownKubectlDifferences } from "./differences.ts"
import { type KubectlServer, type Outcome, runCommand, watchWhile } from "./kubectl-run.ts"
import { type Command, commands } from "./kubectl-script.ts"

const namespace = `kubectl-${process.pid}`
let directory = ""
let sandbox: Sandbox | undefined
let workload: WorkloadManager | undefined
let servers: readonly [KubectlServer, KubectlServer]

beforeAll(async () => {
  const { kubeconfig, kubectl } = await openTestCluster()
  directory = await mkdtemp(join(tmpdir(), "kubereel-kubectl-"))
  sandbox = await Sandbox.start({ lifecycle: true })
  workload = await WorkloadManager.start({ server: sandbox.endpoint, nodes: 4 })
  const written = join(directory, "kubeconfig")
  await writeFile(written, kubeconfigOf(sandbox.url))
  servers = [
    { kubectl, kubeconfig, cacheDirectory: join(directory, "real"), namespace },
    { kubectl, kubeconfig: written, cacheDirectory: join(directory, "sandbox"), namespace },
  ]
  const input = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } })
  const made = await onBoth({ name: "namespace", words: ["create", "-f", "-"], input })
  expect(made.map(({ code }) => code)).toEqual([0, 0])
})
afterAll(async () => {
  if (servers !== undefined) await onBoth({ name: "clean", words: ["delete", "namespace", namespace, "--wait=false"] })
  await workload?.close()
  await sandbox?.close()
  await rm(directory, { recursive: true, force: true })
})

const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "sandbox", cluster: { server } }],
    users: [{ name: "anybody", user: {} }],
    contexts: [{ name: "sandbox", context: { cluster: "sandbox", user: "anybody" } }],
    "current-context": "sandbox",
  })

const onBoth = async (command: Parameters<typeof runCommand>[1]): Promise<readonly [Outcome, Outcome]> => {
  const [real, ours] = servers
  return Promise.all([runCommand(real, command), runCommand(ours, command)])
}

/** Whether a repetition has the same outcome, once controllers are idle. */
const isRepeatable = ({ name, words: [verb = ""] }: Command): boolean =>
  ["get", "wait", "describe"].includes(verb) || name === "patch without change"

describe("kubectl", () => {
  test.each(commands.map((command) => [command.name, command] as const))("%s", async (_name, command) => {
    let [expected, found] = await onBoth(command)
    // Controllers are at work in both: a roll-out that one of them has finished shows in what the other is asked meanwhile.
    for (let repetition = 0; repetition < 5 && isRepeatable(command); repetition++) {
      if (knownKubectlDifferences.has(command.name) || isDeepStrictEqual(found, expected)) break
      await sleep(2000)
      ;[expected, found] = await onBoth(command)
    }
    if (knownKubectlDifferences.has(command.name)) expect(found).not.toEqual(expected)
    else expect(found).toEqual(expected)
  })

  test("get -w shows every change", async () => {
    const seen = servers.map(async (server) => {
      const run = (...words: string[]): Promise<Outcome> => runCommand(server, { name: "", words })
      await run("create", "configmap", "watched", "--from-literal=a=1")
      return watchWhile(server, ["get", "configmap", "watched", "-w", "--show-labels"], 5, async () => {
        await run("label", "configmap", "watched", "x=y")
        await run("patch", "configmap", "watched", "-p", '{"data":{"b":"2"}}')
        await run("delete", "configmap", "watched")
      })
    })
    const [expected, found] = await Promise.all(seen)
    expect(expected).toHaveLength(5)
    expect(found).toEqual(expected)
  })
})

test("names of commands are unique", () => {
  for (const name of knownKubectlDifferences.keys()) expect(commands.map((command) => command.name)).toContain(name)
  expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length)
})
