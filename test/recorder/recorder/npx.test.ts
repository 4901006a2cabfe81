/** `npx reel record` as people run it: in a terminal, by npm, in the shell that npm starts. */
import { dirname } from "node:path"
import { expect, test } from "vitest"
import { Sandbox } from "../../../src/sandbox/index.ts"
import { patient } from "../../harness/patience.ts"
import { kubeconfigOf, reel, Workplace, type Wrap } from "./recorder-command.ts"

/** Runs `npx reel` on a terminal, by script(1), which passes its standard input on to it. `words` begin with Node and bin/reel.js. */
const byNpx: Wrap = ([, , ...words]) => ["script", "-qefc", `npx reel ${words.join(" ")}`, "/dev/null"]

test("a recorder that npx runs ends in order with Ctrl-C, and npx with its exit code, 0", async () => {
  await using place = new Workplace()
  await using sandbox = await Sandbox.start()
  place.write("kubeconfig", kubeconfigOf({ server: sandbox.url }))
  const env = { ...process.env, npm_config_update_notifier: "false", npm_config_offline: "true", NO_COLOR: "1" }
  const cwd = dirname(dirname(reel))
  const recorder = place.record({ options: { wrapped: byNpx, cwd, env, stdio: ["pipe", "pipe", "pipe"] } })
  await recorder.says(/v1\.ConfigMap watching/, patient(30_000))
  recorder.child.stdin?.write("\u0003")
  const { code, signal } = await recorder.ended
  expect(recorder.said).toContain("SIGINT: shutting down")
  expect(recorder.said).not.toContain("SIGINT again")
  expect(recorder.said).toContain("recorded 0 objects and changes")
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})
