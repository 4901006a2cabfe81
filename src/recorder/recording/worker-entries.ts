/**
 * The file that each actor's worker runs; no other module knows it.
 *
 * In a build, the entry points are bundles, beside the command's own (`dist/workers/store.js`) and next to the folder of exported modules: a bundled worker with
 * Effect takes 10 MB, one with separate modules 22–29 MB. From a checkout without bundles, Node runs the sources.
 */
import { existsSync } from "node:fs"
import type { WorkerRole } from "../memory/memory-shares.ts"

export const workerEntry = (role: WorkerRole): URL => {
  const bundles = [`./workers/${role}.js`, `../workers/${role}.js`, `../../../dist/workers/${role}.js`]
  const found = bundles.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  return found ?? new URL(`../../actors/entries/${role}.ts`, import.meta.url)
}
