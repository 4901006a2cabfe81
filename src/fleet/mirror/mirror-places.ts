/** Where mirrors are: in the user's cache directory, with the ranges that their readers have fetched. Both are bounded, and what was used least recently goes first. */
import { hash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import * as Schema from "effect/Schema"
import { MIRROR_FILE } from "../../archive/index.ts"

/** Bytes that all mirrors may take, and all ranges. */
const defaultBytes = 2 * 1024 ** 3

/** ms: a mirror that was used since may be open in another process. */
const inUseMs = 3_600_000

/** In place of a time: an object that the mirror refers to is gone, so its rows are to be read again from the first. */
export const stale = -1

/** The cache of one user. */
export interface CachePlace {
  readonly directory: string
  readonly maximumBytes: number
}

/** `KUBEREEL_CACHE` or the user's cache directory, and `KUBEREEL_CACHE_BYTES`. */
export const cachePlace = (environment: Readonly<Record<string, string | undefined>>): CachePlace => {
  const { KUBEREEL_CACHE: own, KUBEREEL_CACHE_BYTES: bytes, XDG_CACHE_HOME: cache } = environment
  const directory = own || join(cache || join(homedir(), ".cache"), "kubereel")
  return { directory, maximumBytes: Number(bytes) > 0 ? Number(bytes) : defaultBytes }
}

/** What a mirror is of, in its {@link MIRROR_FILE}. The time of that file is that of its last use. */
const MirrorOrigin = Schema.Struct({
  /** Address of the stream. */
  location: Schema.String,
  /** Its random id: another stream may take the place of one. Empty: it was never read. */
  stream: Schema.String,
  /** When the store was last asked for more, µs since the Unix epoch; 0: never with success; {@link stale}. */
  checked: Schema.Number,
  ranges: Schema.String,
  maximumBytes: Schema.Number,
})
export type MirrorOrigin = typeof MirrorOrigin.Type

export const mirrorDirectory = ({ directory }: CachePlace, location: string): string =>
  join(directory, "mirrors", hash("sha256", location).slice(0, 32))

/** `undefined`: there is none, or another version's. */
export const readOrigin = (directory: string): MirrorOrigin | undefined => {
  try {
    const text = readFileSync(join(directory, MIRROR_FILE), "utf8")
    return Schema.decodeUnknownSync(Schema.fromJsonString(MirrorOrigin))(text)
  } catch {
    return undefined
  }
}

/** Also makes the directory, for this user only. @throws what the file system throws */
export const writeOrigin = (directory: string, origin: MirrorOrigin): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const draft = join(directory, `${MIRROR_FILE}.${process.pid}.draft`)
  writeFileSync(draft, `${JSON.stringify(origin)}\n`, { mode: 0o600 })
  renameSync(draft, join(directory, MIRROR_FILE))
}

/** An object that a mirror refers to is gone: all of it is read again. @throws what the file system throws */
export const markStale = (directory: string): void => {
  const origin = readOrigin(directory)
  if (origin !== undefined) writeOrigin(directory, { ...origin, checked: stale })
}

/** Removes mirrors other than `kept`, those used least recently first, until all take no more than they may. @throws what the file system throws */
export const trimMirrors = ({ directory, maximumBytes }: CachePlace, kept: string, nowMs: number): void => {
  const root = join(directory, "mirrors")
  const sizeOf = (path: string): number =>
    readdirSync(path).reduce((sum, name) => sum + (statSync(join(path, name), { throwIfNoEntry: false })?.size ?? 0), 0)
  const mirrors = readdirSync(root).map((name) => {
    const path = join(root, name)
    return {
      path,
      bytes: sizeOf(path),
      usedMs: statSync(join(path, MIRROR_FILE), { throwIfNoEntry: false })?.mtimeMs ?? 0,
    }
  })
  let total = mirrors.reduce((sum, { bytes }) => sum + bytes, 0)
  for (const { path, bytes, usedMs } of mirrors.sort((one, other) => one.usedMs - other.usedMs)) {
    if (total <= maximumBytes || path === kept || nowMs - usedMs < inUseMs) continue
    rmSync(path, { recursive: true, force: true })
    total -= bytes
  }
}
