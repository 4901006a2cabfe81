/**
 * The commands of README and guides against a real control plane, as they stand: kubectl applies what `reel k8s` prints, the API server accepts it. Its nodes only pretend to run
 * containers, so the one pod that a page talks to, that of its recorder, is a process of this machine.
 */
import { execFileSync } from "node:child_process"
import { cpSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest"
import { traces } from "../../docs/givens.ts"
import { type Givens, readPage, runPage } from "../../docs/page-run.ts"
import { callsKubectl, clusterPages, kubectlPages } from "../../docs/page-suites.ts"
import { environmentOf, makeProject, root } from "../../docs/project.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { kubectl } from "../command.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"
import { apply } from "../k8s/installation.ts"
import { RecorderPod } from "./recorder-pod.ts"

let cluster: TestCluster
let before: ReadonlySet<string>
let pod: RecorderPod | undefined

/** Everything of the kinds that pages create outside of namespaces of their own, and those namespaces. */
const existing = async (): Promise<ReadonlyArray<string>> => {
  const kinds = ["namespaces", "clusterroles", "clusterrolebindings", "customresourcedefinitions"]
  const names = (await kubectl(cluster, "get", kinds.join(), "-o", "name")).split("\n")
  const simulations = names.some((name) => name.endsWith("/simulations.simkube.io"))
    ? (await kubectl(cluster, "get", "simulations", "-o", "name")).split("\n")
    : []
  return [...simulations, ...names].filter((name) => name !== "")
}

beforeAll(async () => {
  cluster = await openTestCluster()
})
beforeEach(async () => {
  pod = undefined
  before = new Set(await existing())
})
afterEach(async () => {
  await pod?.stop()
  const made = (await existing()).filter((name) => !before.has(name))
  if (made.length > 0) await kubectl(cluster, "delete", "--ignore-not-found", "--timeout=90s", ...made)
})

/** The kind of kwok's stages. The control plane's own kwok is started without it. */
const stages = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "stages.kwok.x-k8s.io" },
  spec: {
    group: "kwok.x-k8s.io",
    names: { kind: "Stage", plural: "stages" },
    scope: "Cluster",
    versions: [
      {
        ...{ name: "v1alpha1", served: true, storage: true },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
}

const givens: Givens = {
  ...traces,
  k8s: async (path) => {
    symlinkSync(join(root, "k8s"), path)
    await apply(cluster, [stages])
    await kubectl(cluster, "wait", "--for=condition=Established", `crd/${stages.metadata.name}`)
  },
  modules: async (path) => {
    cpSync(join(root, "examples/host/typescript"), path, { recursive: true })
    await kubectl(cluster, "apply", "-f", join(root, "examples/host/simplepod-crd.yaml"))
  },
  "ca.pem": (path) => {
    const words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=ca", "-keyout", `${path}.key`, "-out", path]
    execFileSync("openssl", ["req", ...words], { stdio: "ignore" })
  },
  "the recorder's pod": async () => {
    pod = await RecorderPod.start(cluster, temporaryDirectory())
  },
}

const pages = [
  ...clusterPages.map((page) => [page, "every command", () => true] as const),
  ...kubectlPages.map((page) => [page, "every kubectl", callsKubectl] as const),
]

test.each(pages)("%s: %s does what it says", { timeout: 300_000 }, async (page, _, isIncluded) => {
  const directory = temporaryDirectory()
  makeProject(directory)
  const kubeconfig = readFileSync(cluster.kubeconfig, "utf8")
  const done = await runPage({
    page,
    markdown: readPage(page),
    directory,
    environment: await environmentOf(directory, kubeconfig, { kubectl: cluster.kubectl }),
    givens,
    isIncluded: (block) => block.language !== "ts" && isIncluded(block),
  })
  expect(done).not.toEqual([])
})
