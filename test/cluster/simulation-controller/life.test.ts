/** The life of Simulations on a real control plane, with the rights of the manifests and no others. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { ReelProcess } from "../../recorder/recorder/recorder-command.ts"
import { kubectl } from "../command.ts"
import { kept, SimulatedCluster } from "./simulated-cluster.ts"

let simulated: SimulatedCluster
let controller: ReelProcess
beforeAll(async () => {
  simulated = await SimulatedCluster.open()
  controller = await simulated.startController()
  await controller.says(/metrics: http/)
})
afterAll(() => simulated?.[Symbol.asyncDispose]())

test("all repetitions run, one after the other, and the Job and its pods stay to be looked at", async () => {
  const name = await simulated.create({ spec: { repetitions: 2 } })
  await simulated.reaches(name, "Running")
  await simulated.drivesOf(name, 1)
  expect(simulated.startsOf(name)).toHaveLength(1)
  simulated.finish(name)
  await simulated.reaches(name, "Finished", 60_000)
  const { status } = await simulated.simulation(name)
  expect(status).toMatchObject({ completedRuns: 2, startTime: expect.any(String), endTime: expect.any(String) })
  expect(status?.conditions).toContainEqual(expect.objectContaining({ type: "Ready", status: "True" }))
  expect(simulated.output).toContain("webhook called; repetition 2")
  expect(await simulated.remains(name)).toEqual(kept(name, simulated.startsOf(name)))
  const reasons = await kubectl(
    simulated.audited.cluster,
    ...["get", "events", "-A", "--field-selector", `involvedObject.name=${name}`, "-o", "jsonpath={.items[*].reason}"],
  )
  expect(reasons.split(" ")).toEqual(expect.arrayContaining(["SimulationStarted", "SuccessfulDriverCreate"]))
  // Deleting the Job does not run it again.
  await kubectl(simulated.audited.cluster, "delete", "job", `sk-${name}-driver`, "-n", simulated.drivers)
  await simulated.remove(name)
  await simulated.isClean(name)
  expect(simulated.startsOf(name)).toHaveLength(2)
})

test("a paused one says so within a second, and runs on", async () => {
  const name = await simulated.create()
  await simulated.reaches(name, "Running")
  await simulated.drivesOf(name, 1)
  const patch = (pausedTime: string | null): Promise<string> =>
    kubectl(
      simulated.audited.cluster,
      ...["patch", "sim", name, "--type=merge", "-p", JSON.stringify({ spec: { pausedTime } })],
    )
  await patch(new Date().toISOString().replace("Z", "000Z"))
  expect(await simulated.reaches(name, "Paused")).toBeLessThan(1000)
  await patch(null)
  expect(await simulated.reaches(name, "Running")).toBeLessThan(1000)
  simulated.finish(name)
  await simulated.reaches(name, "Finished")
  await simulated.remove(name)
  await simulated.isClean(name)
})

test("a second one waits, says for whom, and then runs by itself", async () => {
  const first = await simulated.create()
  await simulated.reaches(first, "Running")
  const second = await simulated.create()
  await simulated.reaches(second, "Blocked")
  const { status } = await simulated.simulation(second)
  expect(status?.conditions).toContainEqual(
    expect.objectContaining({ type: "Ready", message: expect.stringContaining(first) }),
  )
  expect(simulated.startsOf(second)).toEqual([])
  simulated.finish(second)
  simulated.finish(first)
  await simulated.reaches(first, "Finished")
  await simulated.reaches(second, "Finished")
  expect(simulated.startsOf(second)).toHaveLength(1)
  for (const name of [first, second]) {
    await simulated.remove(name)
    await simulated.isClean(name)
  }
})

describe("leaves the cluster clean", () => {
  test("when the driver fails, and says why in the driver's words", async () => {
    const name = await simulated.create({ args: ["--failing", "the trace has no bytes"] })
    simulated.finish(name)
    await simulated.reaches(name, "Failed")
    const { status } = await simulated.simulation(name)
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Degraded", message: expect.stringContaining("the trace has no bytes") }),
    )
    expect(await simulated.remains(name)).toEqual(kept(name, simulated.startsOf(name)))
    await simulated.remove(name)
    await simulated.isClean(name)
  })

  test("when a hook fails, whose output is in the status, and no driver was started", async () => {
    const fails = { cmd: "/bin/sh", args: ["-c", "echo no licence >&2; exit 3"] }
    const name = await simulated.create({ spec: { hooks: { preStartHooks: [fails] } } })
    await simulated.reaches(name, "Failed")
    const { status } = await simulated.simulation(name)
    expect(JSON.stringify(status?.hooks)).toContain("no licence")
    expect(simulated.startsOf(name)).toEqual([])
    expect(await simulated.remains(name)).toEqual([`Simulation ${name}`])
    await simulated.remove(name)
    await simulated.isClean(name)
  })

  test("when the driver dies without a word, with its webhook registered", async () => {
    const name = await simulated.create()
    await simulated.drivesOf(name, 1)
    const [pod = ""] = simulated.startsOf(name)
    await kubectl(
      simulated.audited.cluster,
      ...["delete", "pod", pod, "-n", simulated.drivers, "--grace-period=0", "--force"],
    )
    await simulated.reaches(name, "Failed")
    // The driver's root went with the rest, and so did the namespace of the replay.
    expect(await simulated.remains(name)).toEqual([`Job sk-${name}-driver`, `Simulation ${name}`])
    await simulated.remove(name)
    await simulated.isClean(name)
  })

  const slow = { preStartHooks: [{ cmd: "/bin/sleep", args: ["60"] }] }
  test.each([
    ["Initializing", { hooks: slow }],
    ["Running", {}],
    ["Paused", { pausedTime: "2026-01-01T00:00:00.000000Z" }],
  ])("when it is deleted while %s", async (state, spec) => {
    const name = await simulated.create({ spec })
    await simulated.reaches(name, state)
    await simulated.remove(name)
    await simulated.isClean(name)
  })

  test("when it is deleted while its driver works, which then removes what it has created", async () => {
    const name = await simulated.create()
    await simulated.drivesOf(name, 1)
    expect(await simulated.remains(name)).toEqual(expect.arrayContaining([expect.stringMatching(/^Namespace/)]))
    await simulated.remove(name)
    await simulated.isClean(name)
  })

  test("when it is deleted while it waits", async () => {
    const first = await simulated.create()
    await simulated.reaches(first, "Running")
    const second = await simulated.create()
    await simulated.reaches(second, "Blocked")
    await simulated.remove(second)
    await simulated.isClean(second)
    await simulated.remove(first)
    await simulated.isClean(first)
    expect(simulated.startsOf(second)).toEqual([])
  })
})

describe("the controller's account", () => {
  test("was refused nothing", async () => {
    expect(controller.said).not.toMatch(/forbidden|not permitted/i)
    const requests = await simulated.audited.requestsOf(simulated.user)
    expect(requests.length).toBeGreaterThan(50)
    expect(requests.filter(({ code }) => code === 401 || code === 403)).toEqual([])
  })

  test("may do what it has done, and a few things that have not happened here", async () => {
    const used = new Set(
      (await simulated.audited.requestsOf(simulated.user)).map(
        ({ verb, group, resource }) => `${verb} ${group}/${resource}`,
      ),
    )
    const may = await rightsOf(simulated)
    expect(may.length).toBeGreaterThan(used.size)
    const isUsed = (right: string): boolean => used.has(right.split(" ", 2).join(" "))
    expect(may.filter((right) => !isUsed(right) && !Object.hasOwn(unused, right))).toEqual([])
    expect(Object.keys(unused).filter((right) => !may.includes(right))).toEqual([])
  })
})

/** `verb group/resource`: what "kubectl auth can-i --list" shows. */
const rightsOf = async ({ audited, namespace, user }: SimulatedCluster): Promise<ReadonlyArray<string>> => {
  const table = await kubectl(audited.cluster, "auth", "can-i", "--list", "--no-headers", "-n", namespace, "--as", user)
  return (
    table
      .trim()
      .split("\n")
      // Every account may read discovery documents, which are no resources, and ask what it may.
      .filter((line) => !/^(?:\s|self\w+reviews\.)/.test(line))
      .flatMap((line) => {
        const [, resource = "", names = "", verbs = ""] =
          /^(\S+)\s+\[[^\]]*\]\s+\[([^\]]*)\]\s+\[([^\]]*)\]/.exec(line) ?? []
        const [, plural = "", group = "", subresource = ""] = /^([^./]+)(?:\.([^/]+))?(?:\/(.+))?$/.exec(resource) ?? []
        const full = `${group}/${plural}${subresource && `/${subresource}`}`
        return verbs.split(" ").map((verb) => [verb, full, names].filter(Boolean).join(" "))
      })
      .sort()
  )
}

/** What it may do and has not done here, and when it does. */
const unused: Readonly<Record<string, string>> = {
  "bind rbac.authorization.k8s.io/clusterroles kubereel-simulation-driver": "part of the creation of a binding",
  "create monitoring.coreos.com/prometheuses": "spec.metrics",
  "get /pods": "given with the watch",
  "get /services": "a controller that died after its creation",
  "get monitoring.coreos.com/prometheuses": "spec.metrics",
  "get simkube.io/simulationroots": "a controller that died after its creation",
  "list batch/jobs": "servers that do not send lists in watches",
  "list coordination.k8s.io/leases": "servers that do not send lists in watches",
  "list simkube.io/simulations": "servers that do not send lists in watches",
  "patch /events": "events that repeat",
  "patch admissionregistration.k8s.io/mutatingwebhookconfigurations": "a second certificate",
  "update simkube.io/simulationroots/finalizers": "clusters with OwnerReferencesPermissionEnforcement",
  "update simkube.io/simulations/finalizers": "clusters with OwnerReferencesPermissionEnforcement",
}
