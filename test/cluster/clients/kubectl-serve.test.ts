/**
 * kubectl against `reel serve` at five moments of a recording, compared with what kubectl printed at those moments against the recorded cluster, a sandbox;
 * and while time runs.
 */

import { execFile } from "node:child_process"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { type ReelProcess, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { type RecordedCluster, recordCluster } from "../../serve/recorded-cluster.ts"
import { openTestCluster } from "../guard.ts"

const commands = [
  "get pods",
  "get pods -A",
  "get pods -o wide",
  "get pods -o json",
  "get pods -o yaml",
  "get pods -o name",
  "get pods -l app=web --show-labels",
  "get pods --field-selector status.phase=Running -o name",
  "get pods --sort-by=.metadata.creationTimestamp -o name",
  "get pods --chunk-size=1 -o name",
  "get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,IMAGE:.spec.containers[0].image",
  "get deployments -o wide",
  "get deployment web -o yaml --show-managed-fields",
  "get rs",
  "get all",
  "get events",
  "get events --field-selector involvedObject.kind=Pod -o name",
  "get nodes -o wide",
  "get cm settings -o jsonpath={.data.open}",
  "get configmaps -A",
  "get svc -A",
  "get gadgets",
  "get gd big -o yaml",
  "get crd gadgets.example.com -o jsonpath={.spec.names.plural}",
  "get deploy,rs,pods -o name",
  "get --raw /apis/apps/v1/namespaces/default/deployments/web",
  "describe deployment web",
  "describe pods",
  "describe rs",
  "describe gadget big",
  "describe cm settings",
  "rollout status deployment web --watch=false",
  "rollout history deployment web",
  "events",
  "explain gadget.spec",
  "explain pod.spec.containers.image",
]

/** With the exit code; ages and widths that depend on them are left out. */
type Printed = Readonly<Record<string, string>>

let place: Workplace
let kubectl: string
let recorded: RecordedCluster
let server: ReelProcess

const run = (
  words: ReadonlyArray<string>,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> =>
  new Promise((resolve) => {
    execFile(kubectl, [...words, "--cache-dir", place.path("cache")], { maxBuffer: 64 << 20 }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })

const comparable = (text: string): string =>
  text
    .replaceAll(/\b(?:\d+[smhdy])+\b(?: ago)?/g, "AGE")
    .replaceAll(/^Age: .*$/gm, "")
    // What `get all` is told in addition, of a kind of which the cluster had nothing.
    .replaceAll(/^Warning: batch\/v1\.Job: .*\n/gm, "")
    .replaceAll(/ {2,}/g, "  ")

const printedBy = async (...target: ReadonlyArray<string>): Promise<Printed> => {
  const printed: Record<string, string> = {}
  for (const command of commands) {
    const { code, out, err } = await run([...command.split(" "), ...target])
    printed[command] = comparable(`${code}\n${out}${err}`)
  }
  return printed
}

beforeAll(async () => {
  place = new Workplace()
  kubectl = (await openTestCluster()).kubectl
  recorded = await recordCluster({ look: (url) => printedBy("--server", url) })
  const moments = recorded.observations.flatMap(({ time }) => ["--at", `${time / 1_000_000}`])
  server = place.reel(
    ...["serve", recorded.dataDir, ...moments, "--listen", "0", "--kubeconfig-out", place.path("history")],
  )
  await server.says(/Ctrl-C/)
}, 600_000)
afterAll(async () => {
  await recorded?.close()
  await place?.close()
})

const contextOf = (index: number): ReadonlyArray<string> => [
  ...["--kubeconfig", place.path("history")],
  ...["--context", `${(recorded.observations[index]?.time ?? 0) / 1_000_000}`],
]

describe.each([0, 1, 2, 3, 4])("at moment %i", (index) => {
  test("kubectl prints what it printed then", async () => {
    const now = await printedBy(...contextOf(index))
    expect(now).toEqual(recorded.observations[index]?.looked)
  })
})

describe("kubectl", () => {
  test("api-resources has the recorded kinds and no others", async () => {
    const { out } = await run(["api-resources", "-o", "name", ...contextOf(4)])
    expect(out.trim().split("\n").sort()).toEqual(
      [
        ...["configmaps", "customresourcedefinitions.apiextensions.k8s.io", "deployments.apps", "events"],
        ...["events.events.k8s.io", "gadgets.example.com", "jobs.batch", "nodes", "pods", "replicasets.apps"],
        ...["selfsubjectaccessreviews.authorization.k8s.io", "selfsubjectrulesreviews.authorization.k8s.io"],
        ...["selfsubjectreviews.authentication.k8s.io", "services"],
      ].sort(),
    )
  })

  test("version, auth can-i and waits behave", async () => {
    expect((await run(["version", ...contextOf(4)])).out).toContain("v1.34.4+kubereel")
    expect((await run(["auth", "can-i", "list", "pods", ...contextOf(4)])).out).toBe("yes\n")
    expect((await run(["auth", "can-i", "delete", "pods", ...contextOf(4)])).out).toContain("no")
    expect(
      await run(["wait", "--for=condition=Available", "deployment/web", "--timeout=2s", ...contextOf(4)]),
    ).toMatchObject({ code: 0 })
    expect((await run(["wait", "--for=delete", "deployment/web", "--timeout=1s", ...contextOf(4)])).err).toContain(
      "timed out",
    )
  })

  test("cannot change anything, and is told why; logs and metrics are refused", async () => {
    for (const words of [
      ["delete", "pods", "--all", "--wait=false"],
      ["scale", "deployment", "web", "--replicas=5"],
      ["create", "configmap", "made"],
      ["label", "deployment", "web", "a=b"],
    ]) {
      const { code, err } = await run([...words, ...contextOf(4)])
      expect([words, code, err]).toEqual([
        words,
        1,
        expect.stringMatching(/recorded past|could not find the requested/),
      ])
    }
    const [pod = ""] = (await run(["get", "pods", "-o", "name", ...contextOf(4)])).out.split("\n")
    expect((await run(["logs", pod, ...contextOf(4)])).err).toContain("only objects were recorded")
    expect((await run(["top", "pods", ...contextOf(4)])).err).toContain("Metrics API not available")
  })

  test("warns of a status that may be unknown only where there is one, and says what lies outside", async () => {
    // Of a kind that was recorded without its status there is no object whose status could be unknown.
    expect((await run(["get", "jobs", ...contextOf(4)])).err).toBe("No resources found in default namespace.\n")
    const url = (await server.says(/API server +(\S+),/))[1]
    const before = await run(["get", "pods", "--server", `${url}/at/1000`])
    expect([before.code, before.err]).toEqual([1, expect.stringContaining("is before the beginning")])
    expect((await run(["get", "pods", "-o", "name", "--server", `${url}/at/start`])).code).toBe(0)
  })

  test("get -w follows while time runs", async () => {
    const from = `${(recorded.observations[0]?.time ?? 0) / 1_000_000}`
    const playing = place.reel(
      ...["serve", recorded.dataDir, "--at", from, "--play", "--speed", "5", "--listen", "0"],
      ...["--kubeconfig-out", join(place.directory, "play")],
    )
    await playing.says(/Ctrl-C/)
    const { out } = await run([
      "get",
      "deployment",
      "-w",
      "-o",
      "jsonpath={.spec.replicas} ",
      "--request-timeout=20s",
      "--kubeconfig",
      place.path("play"),
    ])
    const seen = out
      .trim()
      .split(/\s+/)
      .filter((each, index, all) => each !== all[index - 1])
    expect(seen).toEqual(["2", "3", "1"])
    await playing.kill()
  })
})
