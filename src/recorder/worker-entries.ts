/**
 * The file that each actor's worker runs; no other module knows it.
 *
 * In a build, the entry points are bundles beside the command's own (`dist/workers/store.js`): a bundled worker with Effect takes 10 MB,
 * one with separate modules 22–29 MB. From a checkout without bundles, Node runs the sources.
 */
import { existsSync } from "node:fs"
import type { MemoryLimits } from "../runtime/actor.ts"

/** Roles that run in their own workers. */
export type WorkerRole = "watcher" | "store" | "owner-resolver" | "exporter" | "reader"

export const workerEntry = (role: WorkerRole): URL => {
  const bundled = new URL(`./workers/${role}.js`, import.meta.url)
  if (existsSync(bundled)) return bundled
  const built = new URL(`../../dist/workers/${role}.js`, import.meta.url)
  if (existsSync(built)) return built
  return new URL(`../actors/entries/${role}.ts`, import.meta.url)
}

/**
 * Memory limits per role in MiB if memory is plentiful; otherwise memory-shares.ts lowers them. Young generations are deliberately small:
 * the garbage of an event is dead at once, and 1 MiB semi-spaces reduced a prototype from 330 to 217 MB (docs/reference/actors.md#memory).
 * Old generations are bounds against leaks, far above what the role needs: a watcher's index of 100,000 objects takes 40 MB.
 */
export const memoryLimits: Readonly<Record<WorkerRole, MemoryLimits>> = {
  watcher: { oldGenerationMb: 512, youngGenerationMb: 3 },
  store: { oldGenerationMb: 512, youngGenerationMb: 3 },
  "owner-resolver": { oldGenerationMb: 256, youngGenerationMb: 3 },
  exporter: { oldGenerationMb: 1024, youngGenerationMb: 3 },
  reader: { oldGenerationMb: 256, youngGenerationMb: 3 },
}
