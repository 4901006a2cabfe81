/** What a server that lasts for one run gives to kubectl: a certificate, and a kubeconfig in a file of its own. */
import { readFile } from "node:fs/promises"
import { systemClock } from "../../clock.ts"
import { makeServerCertificate } from "../../host/index.ts"

/** Longer than anybody runs one. */
const validMs = 10 * 365 * 24 * 60 * 60 * 1000
/** For clocks that differ. */
const validBeforeMs = 24 * 60 * 60 * 1000

/** kubectl sends no token over plain HTTP, so a server that authenticates its users needs a certificate. */
export const certificateOfRun = (host: string) => {
  const nowMs = systemClock.wallMicros() / 1000
  return makeServerCertificate({ host, notBeforeMs: nowMs - validBeforeMs, notAfterMs: nowMs + validMs })
}

/** Whether the file does not exist, or was written by an earlier run, whose kubeconfigs contain `mark`. */
export const mayReplace = async (path: string, mark: string): Promise<boolean> => {
  try {
    return (await readFile(path, "utf8")).includes(mark)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
  }
}
