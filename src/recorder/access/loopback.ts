/** Whether an address can be reached from this machine only. */
import { BlockList, isIP } from "node:net"

const loopback = new BlockList()
loopback.addSubnet("127.0.0.0", 8, "ipv4")
loopback.addAddress("::1", "ipv6")

/** A host name other than `localhost` may be anything, so it is none. An IPv4 address within IPv6 counts as what it is. */
export const isLoopback = (host: string): boolean => {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === "localhost"
  return loopback.check(host, version === 4 ? "ipv4" : "ipv6")
}
