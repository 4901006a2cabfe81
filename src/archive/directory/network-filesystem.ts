/**
 * Detects directories on network file systems.
 *
 * SQLite's write-ahead log needs shared memory and byte-range locks that every process sees; network file systems provide them late, partly
 * or not at all, and a second writer then damages the recording (https://www.sqlite.org/wal.html §1, https://www.sqlite.org/faq.html#q5).
 * FUSE is not rejected: rootless containers keep their root on it, and its magic number does not distinguish local from remote. Operating
 * systems other than Linux return other numbers and pass.
 */

import { statfsSync } from "node:fs"
import { NetworkFileSystemError } from "../archive-errors.ts"

/** `f_type` of statfs(2), from linux/magic.h and the file systems' own sources. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x00c36400, "Ceph"],
  [0x01021997, "9p"],
  [0x5346414f, "AFS"],
  [0x6b414653, "AFS"],
  [0x73757245, "Coda"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x19830326, "BeeGFS"],
  [0x7461636f, "OCFS2"],
  [0x01161970, "GFS2"],
  [0xaad7aaea, "PanFS"],
])

/** Returns the type of the file system of a path; `fs.statfsSync(path).type` except in tests. */
export type FileSystemTypeOf = (path: string) => number

const systemTypeOf: FileSystemTypeOf = (path) => statfsSync(path).type

/** Name of the network file system with this `f_type`, `undefined` for all others. */
export const networkFileSystemOf = (type: number): string | undefined => NETWORK_FILE_SYSTEMS.get(type >>> 0)

/** @throws NetworkFileSystemError if the existing directory is on one. */
export const refuseNetworkFileSystem = (directory: string, typeOf: FileSystemTypeOf = systemTypeOf): void => {
  const fileSystem = networkFileSystemOf(typeOf(directory))
  if (fileSystem !== undefined) throw new NetworkFileSystemError({ directory, fileSystem })
}
