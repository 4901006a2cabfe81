/**
 * A directory as a store: a key is the path of a file below it.
 *
 * Bytes go to a new file, which is synced to the disk and then linked to its name: the link fails if the name exists, so one writer wins, and the file
 * is whole or absent whenever the machine stops. That works between processes, and between machines where the file system has such links (not all network
 * file systems do).
 */
import { randomUUID } from "node:crypto"
import { link, mkdir, open, readdir, rm, stat, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { systemClock } from "../../clock.ts"
import type { StorePlace } from "../addresses/target-address.ts"
import { inParallel } from "../requests/requests.ts"
import { targetError } from "../requests/target-error.ts"
import {
  type ListedObject,
  type ListedPart,
  listedPrefix,
  missingCodes,
  type StoreProvider,
  type Surroundings,
  unless,
} from "./provider.ts"

/** The folder of files that are being written. No key begins with it. */
const drafts = ".kubereel-drafts"

/** ms after which a draft is one of a process that was killed. Writing 256 MiB takes a minute at worst; clocks of machines differ by less. */
const draftMs = 3_600_000

/** Removals under way. */
const removedAtOnce = 16

/** The path, or a folder of it, does not exist. */
const absent = unless(...missingCodes)

/** Drafts of processes that were killed are removed here. Rejects with a TargetError if there is no such directory. */
export const openDirectory = async (
  place: StorePlace,
  { clock = systemClock }: Surroundings,
): Promise<StoreProvider> => {
  const root = place.bucket
  const folder = join(root, drafts)
  if (!(await stat(root).catch(absent))?.isDirectory())
    throw targetError(place, "no-bucket", "there is no such directory")
  const oldest = clock.wallMicros() / 1000 - draftMs
  for (const name of (await readdir(folder).catch(absent)) ?? []) {
    const path = join(folder, name)
    const draft = name.endsWith(".draft") ? await stat(path).catch(absent) : undefined
    if (draft !== undefined && draft.mtimeMs < oldest) await rm(path, { force: true })
  }
  const pathOf = (key: string): string => {
    if (!`${key}/`.startsWith(`${drafts}/`)) return join(root, key)
    throw targetError({ ...place, key }, "bad-key", `keys cannot begin with ${drafts}`)
  }
  return {
    removedAtOnce: Number.POSITIVE_INFINITY,
    create: (key, parts) => create(root, pathOf(key), parts),
    read: async (key, range) => {
      await using handle = await open(pathOf(key))
      const facts = await handle.stat({ bigint: true })
      if (!facts.isFile()) throw Object.assign(new Error("it is no file"), { code: "ENOENT" })
      const size = Number(facts.size)
      const from = range === undefined ? 0 : "last" in range ? Math.max(0, size - range.last) : range.from
      const until = range === undefined || "last" in range ? size : Math.min(size, range.until ?? size)
      const bytes = Buffer.allocUnsafe(Math.max(0, until - from))
      const { bytesRead } = bytes.length === 0 ? { bytesRead: 0 } : await handle.read(bytes, 0, bytes.length, from)
      // Another file of this name differs in one of them.
      const version = `${facts.ino}-${facts.mtimeNs}-${size}`
      return { bytes: bytes.subarray(0, bytesRead), size, version }
    },
    list: async ({ prefix, after = "", delimiter }) => {
      const folderOf = prefix.slice(0, prefix.lastIndexOf("/") + 1)
      return { entries: walk(root, folderOf, { prefix, after, delimiter }), next: undefined }
    },
    remove: async (keys) => {
      const paths = keys.map(pathOf)
      await inParallel(paths, removedAtOnce, (path) => unlink(path).catch(absent))
      for (const each of new Set(paths.map(dirname))) await sync(each).catch(absent)
    },
  }
}

const create = async (root: string, path: string, parts: ReadonlyArray<Uint8Array>): Promise<"created" | "exists"> => {
  const draft = join(root, drafts, `${randomUUID()}.draft`)
  await mkdir(dirname(draft), { recursive: true })
  await mkdir(dirname(path), { recursive: true })
  try {
    await using handle = await open(draft, "wx")
    for (const part of parts) await handle.writeFile(part)
    await handle.sync()
    const isNew = await link(draft, path).then(() => true, unless("EEXIST"))
    // All folders, also for an object of another writer, who may have made them or linked it just now: that it exists is a promise too.
    for (let folder = dirname(path); folder.length >= root.length; folder = dirname(folder)) await sync(folder)
    return isNew ? "created" : "exists"
  } finally {
    await rm(draft, { force: true })
  }
}

/** Makes what was linked or removed in a folder durable. */
const sync = async (folder: string): Promise<void> => {
  await using handle = await open(folder)
  await handle.sync()
}

type WalkedPart = Pick<ListedPart, "prefix" | "delimiter"> & { readonly after: string }

/** A folder without a file, also in one of its own, is no prefix of a key. */
const hasFile = async (root: string, folder: string): Promise<boolean> => {
  for await (const _ of walk(root, folder, { prefix: folder, after: "", delimiter: undefined })) return true
  return false
}

/** The files of a folder and of those in it, in the order of the bytes of their keys. */
async function* walk(
  root: string,
  folder: string,
  { prefix, after, delimiter }: WalkedPart,
): AsyncGenerator<ListedObject, void> {
  const found = await readdir(join(root, folder), { withFileTypes: true }).catch(absent)
  const keys = (found ?? [])
    .filter((entry) => entry.isFile() || entry.isDirectory())
    // A folder's slash takes part in the order: "a-b" is before "a/b".
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`)
    .filter((key) => key.startsWith(prefix) && key !== `${drafts}/`)
    .map((key) => ({ key, bytes: Buffer.from(key) }))
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes))
  const start = Buffer.from(after)
  for (const { key, bytes } of keys) {
    if (Buffer.compare(bytes, start) <= 0 && !after.startsWith(key)) continue
    if (key.endsWith("/")) {
      if (delimiter === undefined) yield* walk(root, key, { prefix: key, after, delimiter })
      else if (await hasFile(root, key)) yield listedPrefix(key)
    } else {
      const facts = await stat(join(root, key)).catch(absent)
      if (facts !== undefined) yield { key, bytes: facts.size, modifiedMs: facts.mtimeMs }
    }
  }
}
