/**
 * The memory limits of the recorder's threads, derived from what the container, or the machine, allows.
 *
 * Beyond what a recorder of so many kinds needs as measured, memory is there to be grown into: by objects, by exports. It is divided
 * among the roles:
 *
 * | role | begins with, MiB | share of what is left | at most, MiB |
 * | --- | --- | --- | --- |
 * | watchers | 60 each | 45 %, which any one of them may take | 512 each |
 * | exporter | 64 | 40 % | 1024 |
 * | reader | 16 | 5 % | 256 |
 * | store | 24 | 5 % | 512 |
 * | owner-resolver | 32 | 5 % | 256 |
 *
 * So all of them at their limits stay inside the bound, with full mailboxes and an export under way, as long as no more than one
 * watcher grows beyond what is measured for few objects. Which one will is not known: most clusters have most of their objects in one
 * kind, and limits that are shared out evenly would end its watcher while there is memory.
 *
 * Where there is less than needed every role has what it begins with, because with less none can work; {@link describeShortage} says
 * so. Then the kernel may end the process, and nothing that was acknowledged is lost.
 *
 * A thread at its limit is ended by V8 and started again; a container at its own is ended whole.
 */
import type { MemoryLimits } from "../../runtime/actor.ts"
import type { MemoryBound } from "../../runtime/thread/container-memory.ts"
import { memoryLimits, type WorkerRole } from "../worker-entries.ts"
import { worstMegabytes } from "./measured-memory.ts"

interface Share {
  /** MiB. */
  readonly least: number
  /** Of what is left, 0 to 1. */
  readonly part: number
}

const shares: Readonly<Record<WorkerRole, Share>> = {
  // 8.5 MB without objects, 0.3 MB per 1,000 of them, and 0.67 where lives of pods are followed: 60 MiB are 80,000 pods.
  watcher: { least: 60, part: 0.45 },
  exporter: { least: 64, part: 0.4 },
  // 6 MB: what it counts is in typed arrays outside of the heap, 41 bytes per object, and nothing is kept between questions.
  reader: { least: 16, part: 0.05 },
  // 10 MB, whatever is recorded: what it knows of objects is in the database.
  store: { least: 24, part: 0.05 },
  // 24 MB with as many questions as it ever has at once.
  "owner-resolver": { least: 32, part: 0.05 },
}

/** Limits of each role's next thread, in a recorder that watches so many kinds. */
export const memoryLimitsOf = ({ bytes }: MemoryBound, kinds: number): Readonly<Record<WorkerRole, MemoryLimits>> => {
  const left = Math.max(0, bytes - neededBytes(kinds)) / mebibyte
  const limits = (role: WorkerRole): MemoryLimits => {
    const { least, part } = shares[role]
    const most = memoryLimits[role]
    return { ...most, oldGenerationMb: Math.min(most.oldGenerationMb, Math.floor(least + part * left)) }
  }
  return {
    watcher: limits("watcher"),
    store: limits("store"),
    "owner-resolver": limits("owner-resolver"),
    exporter: limits("exporter"),
    reader: limits("reader"),
  }
}

/** Why memory may not be enough, and what to do; `undefined` if it is. */
export const describeShortage = ({ bytes, file }: MemoryBound, kinds: number): string | undefined => {
  const needed = neededBytes(kinds)
  if (bytes >= needed) return undefined
  const whose = file === undefined ? "this machine has" : `${file} limits this process to`
  const what = `a recorder of ${kinds} ${kinds === 1 ? "kind" : "kinds"} needs`
  return (
    `${whose} ${inMebibytes(bytes)} of memory, and ${what} ${inMebibytes(needed)} when the disk is full during ` +
    "an export: it may then be killed for lack of memory. Increase it (for a pod, resources.limits.memory, which reel k8s " +
    "computes), or record fewer kinds"
  )
}

/** With few objects: how many there will be nobody knows. */
const neededBytes = (kinds: number): number => worstMegabytes(kinds, 0) * 1e6

const mebibyte = 1024 * 1024

const inMebibytes = (bytes: number): string => `${Math.ceil(bytes / mebibyte)} MiB`
