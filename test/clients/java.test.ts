/** The JDK's WebSocket, on which fabric8's informers watch: it offers HTTP/2 with its first request and sends an Origin. */

import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { expect, test } from "vitest"
import { eventually } from "../harness/eventually.ts"
import { runProgram } from "./running-program.ts"
import { skipBecause } from "./skip-because.ts"
import { withProgram } from "./with-program.ts"

const source = fileURLToPath(new URL("./java/Watch.java", import.meta.url))

test("gets every event of a watch", async ({ skip }) => {
  const modules = spawnSync("java", ["--list-modules"], { encoding: "utf8" })
  if (modules.error !== undefined || !modules.stdout.includes("jdk.compiler"))
    return skipBecause(skip, "there is no JDK")
  const path = "/api/v1/namespaces/default/configmaps?watch=true&labelSelector=team&timeoutSeconds=600"
  await withProgram(
    [],
    ({ sandbox }) => runProgram("java", [source, sandbox.url, path]),
    async ({ sandbox }, program) => {
      await eventually(() => expect(sandbox.watchCount("configmaps")).toBeGreaterThan(0))
      await sandbox.requests.waitFor({ status: 101 })
      const labels = { team: "a" }
      sandbox.put("v1.ConfigMap", { metadata: { name: "a", labels }, data: { long: "x".repeat(100_000) } })
      sandbox.put("v1.ConfigMap", { metadata: { name: "b" } })
      sandbox.delete("v1.ConfigMap", "default", "a")
      const lines = () => program.output().split("\n").slice(0, -1)
      await eventually(() => expect(lines().length).toBe(2))
      expect(lines().map((line) => JSON.parse(line).type)).toEqual(["ADDED", "DELETED"])
    },
  )
})
