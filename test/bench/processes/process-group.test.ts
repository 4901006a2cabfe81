import { once } from "node:events"
import { createServer } from "node:http"
import { connect } from "node:net"
import { expect, test } from "vitest"
import { LineProcess } from "../../../bench/processes/line-process.ts"
import { groupCpuSeconds, processesOf, unreadBytes } from "../../../bench/processes/process-group.ts"

test("a command is followed with all its processes, and none of them outlives it", async () => {
  const command = new LineProcess({ script: "sleep 600 & echo started $!; wait", endsBy: "signal" })
  const child = Number(await command.hear("its child", 10_000, (line) => /^started (\d+)$/.exec(line)?.at(1)))
  expect(processesOf(command.pid)).toEqual(expect.arrayContaining([command.pid, child]))
  expect(groupCpuSeconds(command.pid)).toBeGreaterThanOrEqual(0)
  await command[Symbol.asyncDispose]()
  expect(processesOf(command.pid)).toEqual([])
})

test("a command hears where the cluster is by its environment", async () => {
  const environment = { KUBECONFIG: "/somewhere" }
  await using command = new LineProcess({ script: 'echo "at $KUBECONFIG"; sleep 600', environment, endsBy: "signal" })
  expect(await command.hear("its answer", 10_000, (line) => line)).toBe("at /somewhere")
})

test("bytes that a client has not read are seen until it reads them", async () => {
  const server = createServer((_, response) => response.end("x".repeat(10_000))).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" ? (address?.port ?? 0) : 0
  const client = connect(port, "127.0.0.1").pause()
  client.write("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
  await expect.poll(() => unreadBytes(port)).toBeGreaterThan(0)
  client.resume()
  await once(client, "end")
  expect(unreadBytes(port)).toBe(0)
  client.destroy()
  server.close()
})
