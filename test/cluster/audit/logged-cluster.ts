/**
 * A cluster whose API server logs every write with its response: the suite's own if it does, else one that is started for this and stopped at the
 * end.
 */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePorts } from "../free-ports.ts"
import { openTestCluster, type TestCluster } from "../guard.ts"

const run = promisify(execFile)
const script = (name: string): string => fileURLToPath(new URL(`../control-plane/${name}`, import.meta.url))

/** The policy of the guide. */
const policy = fileURLToPath(new URL("policy.yaml", import.meta.url))

export interface LoggedCluster extends AsyncDisposable {
  readonly cluster: TestCluster
  /** Path of the log. */
  readonly log: string
}

export const openLoggedCluster = async (): Promise<LoggedCluster> => {
  const suite = await openTestCluster()
  const beside = dirname(suite.kubeconfig)
  if (await hasPolicy(beside))
    return { cluster: suite, log: join(beside, "audit.log"), [Symbol.asyncDispose]: async () => undefined }
  const directory = await mkdtemp(join(tmpdir(), "kubereel-logged-"))
  const environment = { ...process.env, STATE: directory, PORT: String(await freePorts(3)), AUDIT: policy, NODES: "2" }
  const close = async (): Promise<void> => {
    await run(script("down"), { env: environment })
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const { stdout } = await run(script("up"), { env: environment })
    const { KUBECTL: _theirs, ...rest } = process.env
    const cluster = await openTestCluster({ ...rest, KUBEREEL_TEST_KUBECONFIG: stdout.trim() })
    return { cluster, log: join(directory, "audit.log"), [Symbol.asyncDispose]: close }
  } catch (cause) {
    await close()
    throw cause
  }
}

const hasPolicy = async (directory: string): Promise<boolean> => {
  const used = join(directory, "audit-policy.yaml")
  return existsSync(used) && (await readFile(used, "utf8")) === (await readFile(policy, "utf8"))
}
