/** The servers that the script beside this builds. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** @throws Error if they do not exist and cannot be built; the message states why. */
export const buildServers = async (): Promise<Record<"versitygw" | "fakeGcs" | "azurite", string>> => {
  const script = fileURLToPath(new URL("servers", import.meta.url))
  const { stdout } = await promisify(execFile)(script, [])
  const [versitygw, fakeGcs, azurite] = stdout.trim().split("\n")
  if (versitygw === undefined || fakeGcs === undefined || azurite === undefined) {
    throw new Error(`${script} printed no paths: ${stdout}`)
  }
  return { versitygw, fakeGcs, azurite }
}

/** ms for a first build on a machine that downloads the modules. */
export const buildMs = 900_000
