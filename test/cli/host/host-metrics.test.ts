import { expect, test } from "vitest"
import { type HostState, hostMetrics } from "../../../src/cli/host/host-metrics.ts"

const status = {
  phase: "running",
  reason: "",
  restarts: 0,
  isAlone: false,
  worker: "worker-1",
  missed: 0,
} as const
const controller = (
  name: string,
  isWaitingForCheckpoint: boolean,
): HostState["scripts"][number]["controllers"][number] => ({
  name,
  state: "reconciling",
  adds: 0,
  runs: 0,
  failures: 0,
  retries: 0,
  waitedMs: 0,
  longestWaitMs: 0,
  workedMs: 0,
  longestRunMs: 0,
  depth: 0,
  delayed: 0,
  longestRunningMs: 0,
  terminalFailures: 0,
  requeues: 0,
  timeouts: 0,
  isWaitingForCheckpoint,
})
const instance = (module: string, isWaitingForCheckpoint: boolean) => ({
  module,
  incarnation: 1,
  wakeUps: 0,
  runMs: 0,
  longestMs: 0,
  dropped: 0,
  queued: 0,
  memoryBytes: 0,
  isWaitingForCheckpoint,
})

test("a module that waits for its checkpoint is seen, be it a guest or a script of which one controller waits", () => {
  const metrics = hostMetrics({
    modules: [
      { ...status, name: "guest", instance: instance("guest", true) },
      { ...status, name: "other", instance: instance("other", false) },
      { ...status, name: "ended", phase: "waiting" },
    ],
    scripts: [
      { ...status, name: "script", controllers: [controller("a", false), controller("b", true)] },
      { ...status, name: "calm", controllers: [controller("c", false)] },
    ],
    workers: [],
    requests: [],
    hub: undefined,
    refused: 0,
  })
  const waiting = metrics.find(({ name }) => name === "kubereel_host_module_checkpoint_waiting")
  expect(waiting?.samples.map(({ labels, value }) => [labels?.module, value])).toEqual([
    ["guest", 1],
    ["other", 0],
    ["ended", 0],
    ["script", 1],
    ["calm", 0],
  ])
})
