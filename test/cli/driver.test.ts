/** `reel driver` as a command: its exit codes, and the message that it leaves for the controller. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { driverCommand } from "../../src/cli/driver.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { capturedTerminal } from "./captured-terminal.ts"

const given = [
  "--sim-name",
  "demo",
  "--controller-ns",
  "simkube",
  "--trace-path",
  "/trace",
  "--cert-path",
  "c",
  "--key-path",
  "k",
]

test("a driver that fails leaves one sentence for the controller, and ends with 1", async () => {
  const directory = temporaryDirectory()
  const log = join(directory, "termination-log")
  const environment = { DRIVER_NAME: "sk-demo-driver-0-abcde", KUBEREEL_TERMINATION_LOG: log }
  const terminal = capturedTerminal({ environment })
  const code = await driverCommand().run([...given, "--kubeconfig", join(directory, "none")], terminal)
  expect(code).toBe(exitCodes.failed)
  expect(readFileSync(log, "utf8")).toContain("none")
  expect(terminal.standardError.text()).toBe(`reel driver: ${readFileSync(log, "utf8")}\n`)
  expect(terminal.listeners()).toBe(0)
})

test("a driver that nobody has named is a usage error, which the controller sees too", async () => {
  const log = join(temporaryDirectory(), "termination-log")
  const terminal = capturedTerminal({ environment: { KUBEREEL_TERMINATION_LOG: log } })
  expect(await driverCommand().run(given, terminal)).toBe(exitCodes.usage)
  expect(readFileSync(log, "utf8")).toBe("the environment variable DRIVER_NAME must be the name of the driver's pod")
})
