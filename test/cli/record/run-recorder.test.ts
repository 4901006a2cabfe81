/** The recorder as a command, without the process: which queries to its actors a terminal causes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "vitest"
import { type RecordOptions, runRecorder } from "../../../src/cli/record/run-recorder.ts"
import type { RecorderStatus } from "../../../src/cli/record/status-line.ts"
import { createLogger } from "../../../src/cli/terminal/log.ts"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { configurationOf, kubeconfigOf, until } from "../../recorder/recorder/recorder-command.ts"

test("counters are read for a status line, and not if it is not shown", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubereel-run-"))
  await using sandbox = await Sandbox.start()
  const config = join(directory, "config.yml")
  const kubeconfig = join(directory, "kubeconfig")
  writeFileSync(config, configurationOf({ "v1.ConfigMap": "{}", "v1.ServiceAccount": "{}" }))
  writeFileSync(kubeconfig, kubeconfigOf({ server: sandbox.url }))
  sandbox.put("v1.ConfigMap", { metadata: { namespace: "shop", name: "one" } })
  sandbox.put("v1.ServiceAccount", { metadata: { namespace: "shop", name: "two" } })
  const said: string[] = []
  const log = createLogger({ format: "text", level: "info", now: Date.now, sink: (line) => said.push(line) })
  const seen: { readonly live: RecorderStatus[]; readonly silent: RecorderStatus[] } = { live: [], silent: [] }
  const run = (name: keyof typeof seen) => {
    const options: RecordOptions = {
      config,
      kubeconfig,
      context: undefined,
      namespaces: [],
      lease: undefined,
      dataDir: join(directory, name),
      fsync: "interval",
      listCompression: "auto",
      limits: { kinds: new Map() },
      port: 0,
      bind: "127.0.0.1",
      secretsInPlainText: false,
      redactKeyFile: undefined,
      logFormat: "text",
      verbosity: 0,
      access: { auth: "none", allowAnonymous: false },
      allowedTargets: [],
      exportLimits: { milliseconds: 60_000, bytes: Number.POSITIVE_INFINITY },
    }
    return runRecorder(options, { log, showStatus: (status) => seen[name].push(status), isLive: name === "live" })
  }
  const before = process.listeners("SIGTERM")
  const runs = [run("silent")]
  try {
    // The silent one first: by the time the other has shown something several times it would have, too.
    await until(
      () => said.some((line) => line.includes("listening on")),
      () => said.join(""),
    )
    runs.push(run("live"))
    await until(
      () => seen.live.filter(({ objects }) => objects === 2).length >= 3,
      () => `three looks at two objects: ${JSON.stringify(seen.live.at(-1))}`,
    )
    expect(seen.silent).toEqual([])
  } finally {
    const added = process.listeners("SIGTERM").filter((listener) => !before.includes(listener))
    for (const listener of added) listener("SIGTERM")
    expect(new Set(await Promise.all(runs))).toEqual(new Set([0]))
    rmSync(directory, { recursive: true, force: true })
  }
})
