/** Where a command's server listens. Apart from the server, because `node:http` costs 5 MB and 10 ms that help and completions do not need. */
import { type Reading, refused, value, withDefault } from "./arguments.ts"

/** Where to listen. */
export interface ListenAddress {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

/** `ADDRESS:PORT`, or `PORT` on a loopback address. */
export const parseListenAddress = (given: string): Reading<ListenAddress> => {
  const { host, port = "" } = /^(?:(?<host>\[[0-9a-f:.]+\]|[^:/\s]+):)?(?<port>\d{1,5})$/i.exec(given)?.groups ?? {}
  if (port === "" || Number(port) > 65_535) return refused("must be PORT or ADDRESS:PORT, such as 7780 or 0.0.0.0:7780")
  return value({ host: host?.replace(/^\[(.*)\]$/, "$1") ?? "127.0.0.1", port: Number(port) })
}

/** `--listen`. `port`: of the loopback address, unless another is given. */
export const listenOption = (port: number, help: string) =>
  withDefault(
    `127.0.0.1:${port}`,
    "ADDRESS:PORT",
    `${help}; PORT alone is one of 127.0.0.1, and 0 any free one`,
    parseListenAddress,
  )
