/**
 * The file that each actor of a controller host runs; no other module knows it. In a build, the entry points are bundles: beside the command's
 * own (`dist/workers/hub.js`), and next to the folder of exported modules. From a checkout without bundles, Node runs the sources.
 */
import { existsSync } from "node:fs"
import { type MemoryLimits, memoryBound, type StartThread, workerThread } from "../runtime/index.ts"

/** Roles that run in their own workers. */
export type HostRole = "hub" | "executor" | "module-worker" | "script-thread"

export const hostWorkerEntry = (role: HostRole | "module-compiler"): URL => {
  const bundles = [`./workers/${role}.js`, `../workers/${role}.js`, `../../dist/workers/${role}.js`]
  const found = bundles.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url))
  return found ?? new URL(`./entries/${role}.ts`, import.meta.url)
}

/**
 * Memory limits in MiB. Objects of the hub are buffers, outside of the old generation, which holds some 500 bytes for each; the young generation
 * is small because the garbage of an event is dead at once (docs/reference/actors.md#memory). The memory of WebAssembly modules is outside of
 * these limits and has its own. Scripts have parsed objects, some twice the size of their JSON, and whatever they import.
 */
export const hostMemoryLimits: Readonly<Record<HostRole, MemoryLimits>> = {
  hub: { oldGenerationMb: 512, youngGenerationMb: 3 },
  executor: { oldGenerationMb: 256, youngGenerationMb: 3 },
  "module-worker": { oldGenerationMb: 256, youngGenerationMb: 3 },
  "script-thread": { oldGenerationMb: 2048, youngGenerationMb: 8 },
}

/** The part of a container's memory that the heap of a script thread may take, so that a script which leaks ends its thread and not the container. */
const scriptShare = 0.4

/** Of a script thread in a process that may have so many bytes. */
export const scriptMemoryLimits = (bytes: number): MemoryLimits => {
  const { oldGenerationMb, youngGenerationMb } = hostMemoryLimits["script-thread"]
  const share = Math.floor((scriptShare * bytes) / 2 ** 20)
  return { oldGenerationMb: Math.max(64, Math.min(oldGenerationMb, share)), youngGenerationMb }
}

/** Starts threads of that role. */
export const startHostThread = (role: HostRole): StartThread =>
  workerThread(
    hostWorkerEntry(role),
    role === "script-thread" ? () => scriptMemoryLimits(memoryBound().bytes) : hostMemoryLimits[role],
  )
