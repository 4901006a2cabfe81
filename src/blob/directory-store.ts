/**
 * A directory as a {@link BlobStore}: a key is the path of a file below it.
 *
 * Bytes go to a new file, which is synced to the disk and then linked to its name: the link fails if the name exists, so one writer wins, and the file
 * is whole or absent whenever the machine stops. Replacing is a rename under a lock of SQLite's, which the kernel releases when its process ends. Both
 * work between processes, and between machines where the file system has such links and locks (not on all network file systems).
 */
import { randomUUID } from "node:crypto"
import { type BigIntStats, renameSync, statSync, utimesSync } from "node:fs"
import { link, mkdir, open, readdir, rm, stat, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import type { Clock } from "../clock.ts"
import {
  type ByteRange,
  byBytes,
  type ListedObject,
  type ListOptions,
  type ReadBytes,
  type StoreProvider,
} from "./blob-store.ts"
import { type Ask, inParallel, lengthOf } from "./requests.ts"
import type { StorePlace } from "./target-address.ts"
import { hasCode, type ImportPackage, targetError } from "./target-error.ts"

/** The folder of files that are being written, and of the lock. No key begins with it. */
const drafts = ".kubereel-drafts"

/** ms after which a draft is one of a process that was killed. Writing 256 MiB takes a minute at worst; clocks of machines differ by less. */
const draftMs = 3_600_000

/** ms to wait for another process that replaces an object: it holds the lock for two system calls. */
const lockMs = 5000

/** Removals under way. */
const removedAtOnce = 16

/** Drafts of processes that were killed are removed here. */
export const openDirectory = async (
  place: StorePlace,
  _environment: NodeJS.ProcessEnv,
  _importing: ImportPackage,
  clock: Clock,
): Promise<StoreProvider> => {
  const root = place.bucket
  const found = await stat(root).catch(unless("ENOENT", "ENOTDIR"))
  if (!found?.isDirectory()) throw targetError(place, "no-bucket", "there is no such directory")
  const oldest = clock.wallMicros() / 1000 - draftMs
  const names = await readdir(join(root, drafts)).catch(unless("ENOENT"))
  for (const name of names ?? []) {
    const path = join(root, drafts, name)
    const draft = name.endsWith(".draft") ? await stat(path).catch(unless("ENOENT")) : undefined
    if (draft !== undefined && draft.mtimeMs < oldest) await rm(path, { force: true })
  }
  return new Directory(place, clock)
}

/** Turns errors with one of these codes into `undefined`. */
const unless =
  (...codes: ReadonlyArray<string>) =>
  (cause: unknown): undefined => {
    if (!hasCode(cause, ...codes)) throw cause
  }

/** The path, or a folder of it, does not exist. */
const absent = unless("ENOENT", "ENOTDIR")

/** Makes what was linked, renamed or removed in a folder durable. */
const sync = async (folder: string): Promise<void> => {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Inode, time and size: another file of this name differs in one of them, because a replacement is always younger. */
const versionOf = ({ ino, mtimeNs, size }: BigIntStats): string => `${ino}-${mtimeNs}-${size}`

class Directory implements StoreProvider {
  readonly #place: StorePlace
  readonly #root: string
  readonly #clock: Clock

  constructor(place: StorePlace, clock: Clock) {
    this.#place = place
    this.#root = place.bucket
    this.#clock = clock
  }

  create(key: string, parts: ReadonlyArray<Uint8Array>, ask: Ask): Promise<"created" | "exists"> {
    const path = this.#path(key)
    return ask("write", lengthOf(parts), async () => {
      const outcome =
        (await stat(path).catch(absent)) === undefined
          ? await this.#draft(parts, async (draft) => {
              await mkdir(dirname(path), { recursive: true })
              const linked = await link(draft, path).then(() => true, unless("EEXIST"))
              return linked ? "created" : "exists"
            })
          : "exists"
      // Also for an object of another writer, who may have linked it just now: "exists" is a promise too.
      await this.#syncFolders(path)
      return outcome
    })
  }

  async replace(
    key: string,
    bytes: Uint8Array,
    version: string,
    ask: Ask,
  ): Promise<{ readonly version: string } | "changed"> {
    const path = this.#path(key)
    if (version === "absent") {
      if ((await this.create(key, [bytes], ask)) === "exists") return "changed"
      return { version: versionOf(await stat(path, { bigint: true })) }
    }
    return ask("write", bytes.length, async () => {
      const replaced = await this.#draft([bytes], async (draft) => this.#exchange(draft, path, version))
      if (replaced !== "changed") await this.#syncFolders(path)
      return replaced
    })
  }

  async read(key: string, range: ByteRange | undefined): Promise<ReadBytes | undefined> {
    const handle = await open(this.#path(key)).catch(absent)
    if (handle === undefined) return undefined
    try {
      const found = await handle.stat({ bigint: true })
      if (!found.isFile()) return undefined
      const size = Number(found.size)
      const [from, until] =
        range === undefined
          ? [0, size]
          : "last" in range
            ? [Math.max(0, size - range.last), size]
            : [range.from, Math.min(size, range.until ?? size)]
      const bytes = Buffer.allocUnsafe(Math.max(0, until - from))
      const { bytesRead } = bytes.length === 0 ? { bytesRead: 0 } : await handle.read(bytes, 0, bytes.length, from)
      return { bytes: bytes.subarray(0, bytesRead), size, version: versionOf(found) }
    } finally {
      await handle.close()
    }
  }

  list(prefix: string, options: ListOptions, ask: Ask): AsyncGenerator<ListedObject, void> {
    return this.#walk(prefix.slice(0, prefix.lastIndexOf("/") + 1), prefix, options, ask)
  }

  async remove(keys: ReadonlyArray<string>, ask: Ask): Promise<void> {
    const paths = keys.map((key) => this.#path(key))
    await inParallel(paths, removedAtOnce, (path) =>
      ask("remove", 0, () => unlink(path).catch(unless("ENOENT", "ENOTDIR", "EISDIR"))),
    )
    for (const folder of new Set(paths.map(dirname))) await sync(folder).catch(absent)
  }

  /** Nothing is open between requests. */
  close(): void {
    return
  }

  #path(key: string): string {
    if (key.startsWith(`${drafts}/`) || key === drafts)
      throw targetError({ ...this.#place, key }, "bad-key", `keys cannot begin with ${drafts}`)
    return join(this.#root, key)
  }

  /** Writes a new file, and removes its name when it has been used. */
  async #draft<A>(parts: ReadonlyArray<Uint8Array>, use: (path: string) => Promise<A>): Promise<A> {
    await mkdir(join(this.#root, drafts), { recursive: true })
    const path = join(this.#root, drafts, `${randomUUID()}.draft`)
    try {
      const handle = await open(path, "wx")
      try {
        for (const part of parts) await handle.writeFile(part)
        await handle.sync()
      } finally {
        await handle.close()
      }
      return await use(path)
    } finally {
      await rm(path, { force: true })
    }
  }

  #exchange(draft: string, path: string, version: string): { readonly version: string } | "changed" {
    const lock = new DatabaseSync(join(this.#root, drafts, "lock"), { timeout: lockMs })
    try {
      lock.exec("BEGIN EXCLUSIVE")
      const before = statSync(path, { bigint: true, throwIfNoEntry: false })
      if (before === undefined || versionOf(before) !== version) return "changed"
      // File systems take times from a clock of some ms, and reuse inodes.
      const milliseconds = Math.max(this.#clock.wallMicros() / 1000, Number(before.mtimeNs / 1_000_000n) + 1)
      utimesSync(draft, milliseconds / 1000, milliseconds / 1000)
      renameSync(draft, path)
      return { version: versionOf(statSync(path, { bigint: true })) }
    } finally {
      lock.close()
    }
  }

  /** All of them, as another writer may have made one and not synced it yet. */
  async #syncFolders(path: string): Promise<void> {
    for (let folder = dirname(path); folder.length >= this.#root.length; folder = dirname(folder)) await sync(folder)
  }

  async *#walk(folder: string, prefix: string, options: ListOptions, ask: Ask): AsyncGenerator<ListedObject, void> {
    const { after, delimiter } = options
    const entries = await ask("list", 0, () => readdir(join(this.#root, folder), { withFileTypes: true }).catch(absent))
    const keys = (entries ?? [])
      .filter((entry) => entry.isFile() || entry.isDirectory())
      // A folder's slash takes part in the order: "a-b" is before "a/b".
      .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`)
      .filter((key) => key.startsWith(prefix) && key !== `${drafts}/`)
      .map((key) => ({ key, bytes: Buffer.from(key) }))
      .sort((one, other) => Buffer.compare(one.bytes, other.bytes))
    for (const { key } of keys) {
      if (after !== undefined && byBytes(key, after) <= 0 && !after.startsWith(key)) continue
      if (!key.endsWith("/")) {
        const found = await stat(join(this.#root, key)).catch(absent)
        if (found !== undefined) yield { key, bytes: found.size, modifiedMs: found.mtimeMs }
      } else if (delimiter === undefined) yield* this.#walk(key, key, options, ask)
      // A folder whose objects were removed is none to a store.
      else if (!(await this.#walk(key, key, {}, ask).next()).done) yield { key, bytes: 0, modifiedMs: 0 }
    }
  }
}
