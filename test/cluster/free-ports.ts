/** Ports for control planes, which cannot choose theirs themselves: etcd and the API server have to know each other's. */

import { createServer } from "node:net"

/** 0 in the process that starts the workers, their number from 1 on in them. */
export const worker = Number(process.env.VITEST_POOL_ID ?? 0)

/** Ports below the range that the kernel hands out for outgoing connections, so that none of those gets in between. */
const rangePorts = 2000
const rangeBegin = 17_443 + worker * rangePorts

/** The first of `count` consecutive loopback ports that are free at the moment. Each worker looks in a range of its own. */
export const freePorts = async (count: number): Promise<number> => {
  for (let first = rangeBegin; first + count <= rangeBegin + rangePorts; first += count) {
    const ports = Array.from({ length: count }, (_, index) => first + index)
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return first
  }
  throw new Error(`no ${count} consecutive ports are free between ${rangeBegin} and ${rangeBegin + rangePorts}`)
}

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer()
    server.on("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })
