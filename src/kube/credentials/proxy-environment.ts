/**
 * The proxy that the environment names for a server: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, or the same in lower case,
 * interpreted like Go's `golang.org/x/net/http/httpproxy`, so that settings that work for kubectl work here.
 *
 * Pure; never throws.
 */
import { BlockList, isIP } from "node:net"

type Environment = Readonly<Record<string, string | undefined>>

/** The proxy and the variable that names it; `undefined` for a direct connection. */
export const proxyFromEnvironment = (
  server: URL,
  environment: Environment,
): { readonly variable: string; readonly url: string } | undefined => {
  const names = server.protocol === "https:" ? ["HTTPS_PROXY", "https_proxy"] : ["HTTP_PROXY", "http_proxy"]
  const variable = names.find((name) => environment[name])
  const value = variable === undefined ? undefined : environment[variable]
  if (variable === undefined || value === undefined || isExempt(server, environment)) return undefined
  return { variable, url: value.includes("://") ? value : `http://${value}` }
}

const isExempt = (server: URL, environment: Environment): boolean => {
  const host = server.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase()
  const port = server.port || (server.protocol === "https:" ? "443" : "80")
  // A proxy would connect to its own "localhost".
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return true
  const list = environment.NO_PROXY || environment.no_proxy || ""
  return list.split(",").some((entry) => matches(entry.trim().toLowerCase(), host, port))
}

const matches = (entry: string, host: string, port: string): boolean => {
  if (entry === "") return false
  if (entry === "*") return true
  if (entry.includes("/")) return isInNetwork(entry, host)
  const [name, entryPort] = splitPort(entry)
  if (entryPort !== undefined && entryPort !== port) return false
  if (isIP(name) !== 0 || isIP(host) !== 0) return name === host
  // `example.com` matches itself and its subdomains; `.example.com` and `*.example.com` match only subdomains.
  const suffix = name.replace(/^\*(?=\.)/, "")
  return suffix.startsWith(".") ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`)
}

/** `host`, `host:port`, `::1`, `[::1]:port`. */
const splitPort = (entry: string): readonly [name: string, port: string | undefined] => {
  if (isIP(entry) === 6) return [entry, undefined]
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? []
  return [bracketed ?? plain ?? entry, port]
}

const isInNetwork = (entry: string, host: string): boolean => {
  const [network = "", length = ""] = entry.split("/")
  const family = isIP(network)
  const bits = Number(length)
  if (family === 0 || isIP(host) !== family || !/^\d+$/.test(length) || bits > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(network, bits, family === 4 ? "ipv4" : "ipv6")
  return list.check(host, family === 4 ? "ipv4" : "ipv6")
}
