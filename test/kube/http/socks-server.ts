import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

/** A SOCKS5 proxy (RFC 1928, 1929) that connects every name and address to this machine. */
export interface SocksServer extends AsyncDisposable {
  readonly port: number
  /** What it was asked to connect to, as `name a:1`, `ipv4 1.2.3.4:1` or `ipv6 …:1`. */
  readonly asked: ReadonlyArray<string>
}

/** `password`: required as `user:password`. `reply`: what it returns to every request; 0 succeeds. `split`: it sends byte by byte. */
export const startSocksServer = async ({
  password,
  reply = 0,
  split = false,
}: {
  readonly password?: string
  readonly reply?: number
  readonly split?: boolean
} = {}): Promise<SocksServer> => {
  const asked: Array<string> = []
  const sockets = new Set<Socket>()
  const serve = async (client: Socket): Promise<void> => {
    const send = (...bytes: ReadonlyArray<number>): void => {
      if (split) for (const byte of bytes) client.write(Buffer.from([byte]))
      else client.write(Buffer.from(bytes))
    }
    let pending = Buffer.alloc(0)
    const read = async (length: number): Promise<Buffer> => {
      while (pending.length < length) {
        const chunk = client.read() as Buffer | null
        if (chunk === null) await once(client, "readable")
        else pending = Buffer.concat([pending, chunk])
      }
      const bytes = pending.subarray(0, length)
      pending = pending.subarray(length)
      return bytes
    }
    const [, methods = 0] = await read(2)
    const offered = [...(await read(methods))]
    const method = password === undefined ? 0 : 2
    if (!offered.includes(method)) return void client.end(Buffer.from([5, 255]))
    send(5, method)
    if (password !== undefined) {
      const text = async (): Promise<string> => (await read((await read(1))[0] ?? 0)).toString()
      await read(1)
      const given = `${await text()}:${await text()}`
      send(1, given === password ? 0 : 1)
      if (given !== password) return void client.end()
    }
    const [, , , type = 0] = await read(4)
    const address =
      type === 3
        ? `name ${(await read((await read(1))[0] ?? 0)).toString()}`
        : type === 1
          ? `ipv4 ${[...(await read(4))].join(".")}`
          : `ipv6 ${(await read(16)).toString("hex")}`
    const port = (await read(2)).readUInt16BE()
    asked.push(`${address}:${port}`)
    if (reply !== 0) return void client.end(Buffer.from([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
    const upstream = connect(port, type === 4 ? "::1" : "127.0.0.1")
    sockets.add(upstream)
    upstream.on("error", () => client.destroy())
    await once(upstream, "connect")
    // The address that it connected from may have any form.
    if (type === 3) send(5, 0, 0, 3, 2, 97, 98, 1, 2)
    else if (type === 4) send(5, 0, 0, 4, ...Buffer.alloc(16), 1, 2)
    else send(5, 0, 0, 1, 127, 0, 0, 1, 1, 2)
    client.pipe(upstream).pipe(client)
  }
  const server = createServer((client) => {
    sockets.add(client)
    client.on("error", () => undefined)
    void serve(client).catch(() => client.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    },
  }
}
