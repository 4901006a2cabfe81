/** What a running recorder tells of its past is what is in its directory, and `reel serve` serves it. */
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { exitCodes } from "../../../src/cli/command-line/exit-codes.ts"
import { openPast, serveCommand } from "../../../src/cli/serve.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import type { Past, PastChange } from "../../../src/serve/index.ts"
import { temporaryDirectory } from "../../harness/temporary-directory.ts"
import { type RecorderProcess, Workplace } from "../../recorder/recorder/recorder-command.ts"
import { ran, serving } from "../commands-in.ts"

let place: Workplace
let sandbox: Sandbox
let recorder: RecorderProcess
beforeAll(async () => {
  place = new Workplace()
  sandbox = await Sandbox.start()
  const configMap = (namespace: string, name: string, count: number): void => {
    sandbox.put("v1.ConfigMap", { metadata: { namespace, name }, data: { count: `${count}`, text: "é\u2028😀" } })
  }
  for (const name of ["a", "b", "c"]) configMap("shop", name, 0)
  recorder = place.record({
    cluster: { server: sandbox.url },
    kinds: { "v1.ConfigMap": "{detect: all}", "apps/v1.Deployment": "{detect: spec}", "v1.Node": "{}" },
  })
  await recorder.ready()
  for (let count = 1; count <= 20; count++)
    configMap(count % 3 === 0 ? "bank" : "shop", count % 2 === 0 ? "a" : "d", count)
  sandbox.delete("v1.ConfigMap", "shop", "b")
  sandbox.put("v1.Node", { metadata: { name: "node-1" } })
  sandbox.put("apps/v1.Deployment", {
    metadata: { namespace: "shop", name: "web" },
    spec: { replicas: 3 },
  })
  await recorder.until(async () => (await exported()).includes("node-1"), "everything to be recorded", 10_000)
})
afterAll(async () => {
  await place.close()
  await sandbox.close()
})

const exported = async (): Promise<string> => (await recorder.get("/v1/objects?kind=nodes")).text

const surroundings = () => ({ environment: {}, signal: new AbortController().signal })

const all = async (batches: AsyncIterable<ReadonlyArray<PastChange>>) => {
  const changes: PastChange[] = []
  for await (const batch of batches) changes.push(...batch)
  return changes.map((change) => ({
    ...change,
    object: JSON.stringify(JSON.parse(change.object.toString() || "null")),
  }))
}

const byName = <Named extends { readonly namespace: string; readonly name: string }>(all: ReadonlyArray<Named>) =>
  all.toSorted((one, other) => `${one.namespace}/${one.name}`.localeCompare(`${other.namespace}/${other.name}`))

test("over HTTP the past is the same as in the directory: kinds, states, changes, and what they lack", async () => {
  const directory: Past = await openPast(place.path("data"), surroundings())
  const remote: Past = await openPast(await recorder.listening(), surroundings())
  try {
    expect(directory.kinds).toMatchObject(remote.kinds)
    expect(remote.begin).toBe(directory.begin)
    expect(remote.end).toBeGreaterThanOrEqual(directory.end)
    for (const { gvk } of directory.kinds) {
      const changes = await all(directory.changes(gvk, directory.begin, directory.end))
      expect(await all(remote.changes(gvk, directory.begin, directory.end))).toEqual(changes)
      const moments = [directory.begin, ...changes.map(({ time }) => time), directory.end]
      for (const time of moments) {
        expect(byName(await all(remote.stateAt(gvk, time)))).toEqual(byName(await all(directory.stateAt(gvk, time))))
        expect(await remote.shortcomings(gvk, time)).toEqual(await directory.shortcomings(gvk, time))
      }
    }
  } finally {
    directory.close()
    remote.close()
  }
})

test("reel serve URL serves it, of one namespace only if that is asked for", async () => {
  for (const [words, names] of [
    [[], ["bank/a", "bank/d", "shop/a", "shop/c", "shop/d"]],
    [
      ["-n", "bank"],
      ["bank/a", "bank/d"],
    ],
  ] as const) {
    const kubeconfig = join(temporaryDirectory(), "kubeconfig")
    const argv = [await recorder.listening(), "--listen", "0", "--kubeconfig-out", kubeconfig, ...words]
    await using served = await serving(serveCommand(), argv)
    const { url } = served
    const list = (await (await fetch(`${url}/api/v1/configmaps`)).json()) as {
      readonly items: ReadonlyArray<{ readonly metadata: { readonly namespace: string; readonly name: string } }>
    }
    expect(list.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()).toEqual(names)
    const response = await fetch(`${url}/apis/apps/v1/deployments`)
    expect(response.headers.get("warning")).toContain("only changes of its spec were recorded")
    expect(await response.text()).toContain(words.length === 0 ? '"replicas":3' : '"items":[]')
  }
})

test("a URL where no recorder is, and a namespace of a directory, are refused with what to do", async () => {
  const run = async (...words: ReadonlyArray<string>) => {
    const kubeconfig = join(temporaryDirectory(), "kubeconfig")
    const { code, error } = await ran(serveCommand(), [...words, "--listen", "0", "--kubeconfig-out", kubeconfig])
    return [code, error]
  }
  expect(await run("http://127.0.0.1:9")).toEqual([
    exitCodes.failed,
    expect.stringContaining("cannot reach a recorder at http://127.0.0.1:9"),
  ])
  expect(await run(place.path("data"), "-n", "shop")).toEqual([
    exitCodes.usage,
    expect.stringContaining("--namespace is for the URL of a running recorder"),
  ])
})
