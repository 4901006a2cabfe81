/** Whether an address is reachable only from this machine. */
import { BlockList, isIP } from "node:net"

const loopback = new BlockList()
loopback.addSubnet("127.0.0.0", 8, "ipv4")
loopback.addAddress("::1", "ipv6")

/** A host name other than `localhost` can resolve to anything, so it is not loopback. IPv4-mapped IPv6 addresses are recognised. */
export const isLoopback = (host: string): boolean => {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === "localhost"
  return loopback.check(host, version === 4 ? "ipv4" : "ipv6")
}
