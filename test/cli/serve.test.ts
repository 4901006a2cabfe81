/** `reel serve`: what it refuses, and what it says. What it serves is tested in test/serve. */
import { once } from "node:events"
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer as createHttpServer } from "node:http"
import { get } from "node:https"
import { type AddressInfo, createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { exitCodes } from "../../src/cli/command-line/exit-codes.ts"
import { serveCommand } from "../../src/cli/serve.ts"
import { formatLocalTime } from "../../src/local-time.ts"
import { ndjsonEncoder } from "../../src/trace/formats/ndjson/ndjson-writer.ts"
import { temporaryDirectory } from "../harness/temporary-directory.ts"
import { get as getOver } from "../sandbox/client.ts"
import { at, itemsOf } from "../serve/trace-items.ts"
import { ran, serving } from "./commands-in.ts"

const place = (): string => {
  const directory = temporaryDirectory()
  const encoder = ndjsonEncoder()
  const step = { gvk: "v1.ConfigMap", name: "a" }
  for (const item of itemsOf({
    steps: [
      { ...step, minutes: -1, version: 1 },
      { ...step, minutes: 30, version: 2 },
    ],
  }))
    encoder.add(item)
  writeFileSync(join(directory, "day.ndjson"), Buffer.concat([...encoder.finish()]))
  return directory
}

/** Of a run that ends by itself. */
const refused = async (...words: ReadonlyArray<string>): Promise<readonly [number, string]> => {
  const { code, error } = await ran(serveCommand(), words)
  return [code, error]
}

test("several recordings are one past", async () => {
  const [one, other] = [join(place(), "day.ndjson"), join(place(), "day.ndjson")]
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  await using served = await serving(serveCommand(), [one, other, "--listen", "0", "--kubeconfig-out", kubeconfig])
  expect(served.output).toContain(`recorded     ${one}, ${other}, from `)
  const list = (await (await fetch(`${served.url}/api/v1/configmaps`)).json()) as { readonly items: object[] }
  expect(list.items).toMatchObject([{ metadata: { name: "a", resourceVersion: "2" } }])
})

describe("reel serve", () => {
  test("says what it serves and how to look at it", async () => {
    const directory = place()
    const kubeconfig = join(directory, "kubeconfig")
    const words = [join(directory, "day.ndjson"), "--at", "-10m", "--listen", "0", "--kubeconfig-out", kubeconfig]
    const { url, output, stop } = await serving(serveCommand(), words)
    const said = (minutes: number): string => formatLocalTime(at(minutes) / 1000, Date.now())
    expect(output.split("\n").slice(0, 4)).toEqual([
      `recorded     ${join(directory, "day.ndjson")}, from ${said(0)} to ${said(60)}`,
      expect.stringMatching(
        new RegExp(`^API server   http://127\\.0\\.0\\.1:\\d+, at ${said(50)} \\(2026-11-20T03:50:00Z\\)$`),
      ),
      `other times  ${url}/at/TIME`,
      `kubeconfig   ${kubeconfig}`,
    ])
    const listed = (await (await fetch(`${url}/api/v1/configmaps`)).json()) as { metadata: { resourceVersion: string } }
    expect(listed.metadata.resourceVersion).toBe("2")
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600)
    // A page whose name was made to resolve to this machine.
    expect((await getOver(`${url}/api/v1/configmaps`, { Host: "shop.example" })).status).toBe(421)
    expect((await getOver(`${url}/api/v1/configmaps`, { Host: "localhost:8001" })).status).toBe(200)
    await stop()
    await expect(fetch(`${url}/version`)).rejects.toThrow()
  })

  test("with a token listens over HTTPS, and the kubeconfig has what is needed", async () => {
    const directory = place()
    const [kubeconfig, token] = [join(directory, "kubeconfig"), join(directory, "token")]
    writeFileSync(token, "let-me-in-please\n")
    const words = ["--listen", "0", "--kubeconfig-out", kubeconfig, "--token-file", token, "--play", "--speed", "10"]
    await using served = await serving(serveCommand(), [join(directory, "day.ndjson"), ...words])
    expect(served.output).toContain("; time runs from there, 10 times as fast")
    const { users, clusters, contexts } = JSON.parse(readFileSync(kubeconfig, "utf8"))
    expect(contexts.map(({ name }: { name: string }) => name)).toEqual(["play", "start"])
    const ca = Buffer.from(clusters[0].cluster["certificate-authority-data"], "base64").toString()
    const statusWith = (headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        get(`${served.url}/version`, { headers, ca, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode)
        }).on("error", reject)
      })
    expect(await statusWith({ Authorization: `Bearer ${users[0].user.token}` })).toBe(200)
    expect(await statusWith({})).toBe(401)
  })

  test("refuses what cannot be meant, before it reads anything", async () => {
    const [code, said] = await refused("x.ndjson", "--speed", "2")
    expect([code, said]).toEqual([exitCodes.usage, expect.stringContaining("--speed needs --play")])
    expect((await refused("x.ndjson", "--play", "--speed", "max"))[1]).toContain(
      "--speed max is for replays; name a number",
    )
    expect((await refused("x.ndjson", "--listen", "0.0.0.0:0"))[1]).toContain("require a token with --token-file")
    expect((await refused())[0]).toBe(exitCodes.usage)
    const kubeconfig = join(temporaryDirectory(), "config")
    writeFileSync(kubeconfig, "apiVersion: v1\nkind: Config\n")
    expect((await refused("x.ndjson", "--kubeconfig-out", kubeconfig))[1]).toContain(
      "is not a kubeconfig of reel serve; name another file with --kubeconfig-out, or overwrite it with --force",
    )
  })

  test("says what is wrong with a source or a moment", async () => {
    const directory = place()
    const kubeconfig = ["--listen", "0", "--kubeconfig-out", join(directory, "kubeconfig")]
    const day = join(directory, "day.ndjson")
    writeFileSync(join(directory, "torn.ndjson"), readFileSync(day).subarray(0, 500))
    for (const [words, code, said] of [
      [
        [temporaryDirectory()],
        exitCodes.failed,
        /cannot serve .*: it is a directory, but .*; name a trace, or the data directory of a recorder/,
      ],
      [[join(directory, "missing")], exitCodes.failed, /file not found/],
      [[join(directory, "torn.ndjson")], exitCodes.failed, /not a readable ndjson trace/],
      [[day, "--at", "2026-11-20T02:00:00Z"], exitCodes.usage, /is before the beginning: /],
      [[day, "--at", "noon"], exitCodes.usage, /"noon": must be a time such as/],
    ] as const)
      expect(await refused(...words, ...kubeconfig)).toEqual([code, expect.stringMatching(said)])
  })

  test("says that its port is in use, and which file it cannot write", async () => {
    const directory = place()
    const taken = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => taken.once("listening", resolve))
    const { port } = taken.address() as { readonly port: number }
    const day = join(directory, "day.ndjson")
    const inUse = await refused(day, "--listen", String(port), "--kubeconfig-out", join(directory, "kubeconfig"))
    taken.close()
    expect(inUse).toEqual([
      exitCodes.failed,
      `reel serve: port ${port} on 127.0.0.1 is in use; choose another with --listen (port 0 is any free one)\n`,
    ])
    expect(await refused(day, "--listen", "0", "--kubeconfig-out", join(directory, "no", "kubeconfig"))).toEqual([
      exitCodes.failed,
      expect.stringContaining("its directory does not exist"),
    ])
  })
})

test("a recorder that refuses the token, and a token that cannot be read, have exit codes of their own", async () => {
  await using recorder = createHttpServer((_, response) => void response.writeHead(403).end("no"))
  await once(recorder.listen(0, "127.0.0.1"), "listening")
  const kubeconfig = join(temporaryDirectory(), "kubeconfig")
  const url = `http://127.0.0.1:${(recorder.address() as AddressInfo).port}`
  const [code, error] = await refused(url, "--kubeconfig-out", kubeconfig)
  expect([code, error]).toEqual([exitCodes.notPermitted, expect.stringContaining("with status 403: no")])
  const words = [join(place(), "day.ndjson"), "--kubeconfig-out", kubeconfig, "--token-file", join(kubeconfig, "none")]
  expect((await refused(...words))[0]).toBe(exitCodes.usage)
  expect(serveCommand().syntax.exitCodes).toMatchObject({
    usage: expect.stringContaining("token"),
    notPermitted: expect.stringContaining("token"),
  })
})
