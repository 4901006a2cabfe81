/** Requests of a rehearsal that are held for a latency, into a sandbox, through memory. */
import { expect, onTestFinished, test } from "vitest"
import type { ResponseHandler, StreamEnd } from "../../../src/kube/http/transport.ts"
import { VirtualClock } from "../../../src/rehearsal/clock/virtual-clock.ts"
import { Traffic } from "../../../src/rehearsal/stage/traffic.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { turn } from "../../runtime/until.ts"

test("a held request that is aborted, once or again, is not held any more and never sent; others are", async () => {
  const clock = new VirtualClock(0)
  const sandbox = await Sandbox.start({ clock })
  const traffic = new Traffic({
    sandbox,
    clock,
    latencyMs: 10,
    around: (_participant, _request, carryOut) => carryOut(),
  })
  onTestFinished(async () => {
    traffic.close()
    await sandbox.close()
  })
  const transport = traffic.transportOf("controller")
  const ends: string[] = []
  const handler = (name: string): ResponseHandler => ({
    head: () => undefined,
    data: () => undefined,
    end: ({ tag }: StreamEnd) => ends.push(`${name} ${tag}`),
  })
  const given = transport.send({ method: "GET", path: "/api/v1/pods", headers: {} }, handler("given up"))
  transport.send({ method: "GET", path: "/api/v1/nodes", headers: {} }, handler("kept"))
  expect([traffic.held, traffic.underWay]).toEqual([2, 2])
  given.abort()
  given.abort()
  expect(traffic.held).toBe(1)
  await turn()
  expect([ends, traffic.underWay]).toEqual([["given up aborted"], 1])
  clock.moveTo(10_000)
  clock.fire()
  given.abort()
  expect(traffic.held).toBe(0)
  while (traffic.underWay > 0) await turn()
  expect(ends).toEqual(["given up aborted", "kept complete"])
  expect(sandbox.requests.count({ resource: "pods" })).toBe(0)
})
