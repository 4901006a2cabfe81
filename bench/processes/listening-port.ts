/** Finds the port that a process listens on, from the kernel. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs"

/** In a line of `/proc/<pid>/net/tcp`: a listening socket. */
const listens = "0A"

/**
 * The ports of listening sockets in the text of `/proc/<pid>/net/tcp`, by the socket's inode. The file covers the whole network namespace:
 * only the inodes tell which process they belong to.
 */
export const parseListening = (text: string): ReadonlyMap<string, number> => {
  const ports = new Map<string, number>()
  for (const line of text.split("\n").slice(1)) {
    const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/)
    if (state === listens && inode !== undefined)
      ports.set(inode, Number.parseInt(local.slice(local.indexOf(":") + 1), 16))
  }
  return ports
}

/** The one port of IPv4 on which the process listens. @throws Error if there is none, or more than one */
export const listeningPort = (pid: number): number => {
  const ports = parseListening(readFileSync(`/proc/${pid}/net/tcp`, "utf8"))
  const found = readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`))?.[1]
    return ports.get(inode ?? "") ?? []
  })
  const [port] = found
  if (port === undefined || found.length > 1) throw new Error(`the process listens on ${found.length} ports`)
  return port
}

/** Empty for a descriptor that was closed since the directory was read. */
const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT") throw cause
    return ""
  }
}
