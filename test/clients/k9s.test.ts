/**
 * k9s in a terminal, at moments of a recording and while its time runs: it shows what an observer of the cluster saw then. Runs if `KUBEREEL_K9S`
 * is the path of its binary.
 */

import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openPast } from "../../src/cli/serve.ts"
import { systemClock } from "../../src/clock.ts"
import { historyKubeconfig } from "../../src/serve/index.ts"
import { eventually } from "../harness/eventually.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import type { ApiObject } from "../sandbox/client.ts"
import { type Observation, type RecordedCluster, recordCluster } from "../serve/recorded-cluster.ts"
import { serve } from "../serve/served.ts"
import { skipBecause } from "./skip-because.ts"
import { hasTerminals, openTerminal, type Terminal } from "./terminal.ts"

const binary = process.env.KUBEREEL_K9S
let missing: string | undefined
let recorded: RecordedCluster

beforeAll(async () => {
  if (binary === undefined) missing = "KUBEREEL_K9S does not name a binary of k9s"
  else if (!hasTerminals()) missing = "there is no tmux"
  else recorded = await recordCluster()
})
afterAll(() => recorded?.close())

const open = () => openPast(recorded.dataDir, { environment: {}, signal: new AbortController().signal })

const k9s = (server: string, moment?: string): Promise<Terminal> => {
  const home = temporaryDirectory()
  const kubeconfig = join(home, "kubeconfig")
  const contexts = [{ name: "then", ...(moment !== undefined && { moment }) }]
  writeFileSync(kubeconfig, historyKubeconfig({ server, contexts }))
  // Nothing leaves this machine: k9s would ask GitHub for its latest version.
  mkdirSync(join(home, "config"))
  writeFileSync(join(home, "config", "config.yaml"), "k9s:\n  skipLatestRevCheck: true\n")
  const words = [
    "--kubeconfig",
    kubeconfig,
    "--namespace",
    "default",
    "--command",
    "pods",
    "--headless",
    "--refresh",
    "1",
  ]
  const folders = {
    HOME: home,
    K9S_CONFIG_DIR: join(home, "config"),
    K9S_LOGS_DIR: home,
    KUBECACHEDIR: join(home, "cache"),
  }
  return openTerminal([binary ?? "", ...words], folders)
}

const at = (observation: Observation, path: string): ReadonlyArray<ApiObject> =>
  observation.lists.get(path)?.items ?? []

const podsAt = (observation: Observation) =>
  at(observation, "/api/v1/pods")
    .map(({ metadata }) => metadata.name)
    .sort()

/** Names and readiness, as k9s has them in its columns. */
const deploymentsAt = (observation: Observation) =>
  at(observation, "/apis/apps/v1/deployments").map(({ metadata, spec }) => {
    const { replicas } = spec as { readonly replicas: number }
    return [metadata.name, `${replicas}/${replicas}`]
  })

/** The first words of the rows of the table with this title. Throws if another one is shown. */
const tableOf = (resource: string, columns: number, screen: string): ReadonlyArray<ReadonlyArray<string>> => {
  const count = new RegExp(`\\b${resource}\\(default\\)\\[(\\d+)\\]`, "i").exec(screen)?.[1]
  if (count === undefined) throw new Error(`no table of ${resource}:\n${screen.trimEnd()}`)
  const rows = screen
    .split("\n")
    .map((line) =>
      line
        .replace(/^[\s│┃|]+/, "")
        .split(/\s+/)
        .filter((word) => word !== "●"),
    )
    .filter(([name = ""]) => /^web\b/.test(name))
    .map((words) => words.slice(0, columns))
  if (rows.length !== Number(count))
    throw new Error(`${count} ${resource} are not all on the screen:\n${screen.trimEnd()}`)
  return rows.sort()
}

const shows = (terminal: Terminal, resource: string, columns: number, rows: ReadonlyArray<ReadonlyArray<string>>) =>
  eventually(async () => expect(tableOf(resource, columns, await terminal.screen())).toEqual(rows))

const showsText = (terminal: Terminal, ...texts: ReadonlyArray<string>) =>
  eventually(async () => {
    // A long value may be broken where the screen ends.
    const screen = (await terminal.screen()).replace(/[ \t]+/g, " ")
    for (const text of texts) expect(screen).toContain(text)
  })

/** Leaves the table for a resource's one. */
const go = async (terminal: Terminal, resource: string): Promise<void> => {
  await terminal.type(":")
  await terminal.type(resource)
  await terminal.press("Enter")
}

test("at five moments it shows the Pods and Deployments, describes one, and shows its YAML", async ({ skip }) => {
  if (missing !== undefined) return skipBecause(skip, missing)
  const { url } = await serve(await open())
  for (const observation of recorded.observations) {
    const terminal = await k9s(url, String(observation.time))
    try {
      const pods = podsAt(observation)
      await shows(
        terminal,
        "pods",
        1,
        pods.map((name) => [name]),
      )
      await go(terminal, "deployments")
      await shows(terminal, "deployments", 2, deploymentsAt(observation))
      const [web] = at(observation, "/apis/apps/v1/deployments")
      if (web === undefined) continue
      const { replicas, template } = web.spec as { readonly replicas: number; readonly template: PodTemplate }
      await terminal.type("d")
      const [{ image } = { image: "" }] = template.spec.containers
      await showsText(terminal, "Name: web", `Image: ${image}`, `${replicas} desired`)
      await terminal.press("Escape")
      await shows(terminal, "deployments", 2, deploymentsAt(observation))
      await terminal.type("y")
      await showsText(terminal, `resourceVersion: "${web.metadata.resourceVersion}"`, `uid: ${web.metadata.uid}`)
    } finally {
      await terminal.close()
    }
  }
})

interface PodTemplate {
  readonly spec: { readonly containers: ReadonlyArray<{ readonly image: string }> }
}

test("while time runs, it follows from the first moment to the last", async ({ skip }) => {
  if (missing !== undefined) return skipBecause(skip, missing)
  const [first, ...others] = recorded.observations
  const last = others.at(-1)
  if (last === undefined) throw new Error("one observation is none to follow to")
  const { url, troubles } = await serve(await open(), {
    ...{ clock: systemClock, root: { moment: String(first?.time), speed: 2 } },
  })
  const terminal = await k9s(url)
  try {
    await shows(
      terminal,
      "pods",
      1,
      podsAt(last).map((name) => [name]),
    )
    expect(troubles).toEqual([])
  } finally {
    await terminal.close()
  }
})
