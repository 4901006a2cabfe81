/** Informers of client-go at moments of a recording, and while its time runs: they hold what an observer of the cluster saw then. */

import { writeFileSync } from "node:fs"
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
import { goProgram, type Program } from "./build/compiled-program.ts"
import { runProgram } from "./running-program.ts"
import { skipBecause } from "./skip-because.ts"

/** By the resource that the program is told, the path of the observed list. */
const resources = {
  pods: "/api/v1/pods",
  configmaps: "/api/v1/configmaps",
  "deployments.apps": "/apis/apps/v1/deployments",
  "gadgets.example.com": "/apis/example.com/v1/gadgets",
} as const

let program: Program
let recorded: RecordedCluster
beforeAll(async () => {
  program = await goProgram("informer", "./informer")
  if (!("missing" in program)) recorded = await recordCluster()
})
afterAll(() => recorded?.close())

const versionsIn = (items: ReadonlyArray<ApiObject>): ReadonlyArray<string> =>
  items
    .map(({ metadata: { namespace = "", name, resourceVersion } }) => `${namespace}/${name}@${resourceVersion}`)
    .sort()

const seen = ({ lists }: Observation): Readonly<Record<string, ReadonlyArray<string>>> =>
  Object.fromEntries(
    Object.entries(resources).map(([resource, path]) => [resource, versionsIn(lists.get(path)?.items ?? [])]),
  )

const open = () => openPast(recorded.dataDir, { environment: {}, signal: new AbortController().signal })

const informer = (path: string, server: string, moment?: string) => {
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  const contexts = [{ name: "then", ...(moment !== undefined && { moment }) }]
  writeFileSync(kubeconfig, historyKubeconfig({ server, contexts }))
  const running = runProgram(path, Object.keys(resources), { KUBECONFIG: kubeconfig })
  return {
    /** What it holds now. */
    held: (): unknown => {
      const [last = "null"] = running.output().trimEnd().split("\n").slice(-1)
      return JSON.parse(last)
    },
    stop: () => running.stop(),
  }
}

test("at five moments", async ({ skip }) => {
  if ("missing" in program) return skipBecause(skip, `the informers were not built: ${program.missing}`)
  const { path } = program
  // A kind is there from the moment on at which its definition was recorded, and its objects later.
  const { url } = await serve(await open())
  for (const observation of recorded.observations) {
    const { held, stop } = informer(path, url, String(observation.time))
    try {
      await eventually(() => expect(held()).toEqual(seen(observation)))
    } finally {
      await stop()
    }
  }
})

test("while time runs, from the first moment to the last", async ({ skip }) => {
  if ("missing" in program) return skipBecause(skip, `the informers were not built: ${program.missing}`)
  const [first, ...others] = recorded.observations
  const { url, troubles } = await serve(await open(), {
    ...{ clock: systemClock, root: { moment: String(first?.time), speed: 5 } },
  })
  const { held, stop } = informer(program.path, url)
  try {
    const last = others.at(-1)
    if (last === undefined) throw new Error("one observation is none to follow to")
    await eventually(() => expect(held()).toEqual(seen(last)))
    expect(troubles).toEqual([])
  } finally {
    await stop()
  }
})
