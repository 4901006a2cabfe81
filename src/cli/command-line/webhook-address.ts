/** Where the API server reaches the webhooks of a command, as options name it. */
import { isIP, isIPv6 } from "node:net"
import type { WebhookAddress } from "../../host/index.ts"
import { isLoopback } from "../../recorder/index.ts"
import { type Reading, refused, value } from "./arguments.ts"

export interface NamedAddress {
  readonly host: string
  readonly port: number
}

/** `HOST:PORT`, with an IPv6 address in brackets. */
export const parseAddress = (given: string): Reading<NamedAddress> => {
  const [, bracketed, plain, port = ""] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/@[\]]+)):(\d{1,5})$/.exec(given) ?? []
  const host = bracketed ?? plain
  const isValid = Number(port) >= 1 && Number(port) <= 65_535 && (bracketed === undefined || isIPv6(bracketed))
  return host !== undefined && isValid
    ? value({ host, port: Number(port) })
    : refused("must be HOST:PORT, such as 10.0.0.7:9443 or [fd00::7]:9443")
}

const loopback = "127.0.0.1"

/** Listens on all addresses: the host may be that of a proxy or a NAT in front of this machine. Only a loopback address is listened on alone. */
export const webhookAddressOf = ({ host, port }: NamedAddress): WebhookAddress => {
  const address = isLoopback(host) ? (isIP(host) === 0 ? loopback : host) : "::"
  return { host, listen: { address, port } }
}
