/**
 * The file that each actor's worker runs; no other module knows it.
 *
 * In a build, the entry points are bundles beside the command's own (`dist/workers/store.js`): a bundled worker with Effect takes 10 MB,
 * one with separate modules 22–29 MB. From a checkout without bundles, Node runs the sources.
 */
import { existsSync } from "node:fs"
import type { WorkerRole } from "../memory/memory-shares.ts"

export const workerEntry = (role: WorkerRole): URL => {
  const bundled = new URL(`./workers/${role}.js`, import.meta.url)
  if (existsSync(bundled)) return bundled
  const built = new URL(`../../../dist/workers/${role}.js`, import.meta.url)
  if (existsSync(built)) return built
  return new URL(`../../actors/entries/${role}.ts`, import.meta.url)
}
