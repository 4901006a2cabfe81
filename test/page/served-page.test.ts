/** The page as a server serves it: from its own origin alone, once for each version, below any prefix. */
import { createServer, type IncomingMessage, request } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { gunzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { isPagePath, servePage } from "../../src/page/index.ts"

const server = createServer((asked, response) => servePage(asked, response, asked.url ?? ""))

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
afterAll(() => void server.close())

/** As it is sent, not decompressed. */
const get = async (
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<readonly [answer: IncomingMessage, body: Buffer]> => {
  const { port } = server.address() as AddressInfo
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: "127.0.0.1", port, path, headers, method, agent: false }, resolve).on("error", reject).end()
  })
  return [answer, await buffer(answer)]
}

test("its paths are /ui and those below it", () => {
  const paths = ["/ui", "/ui/", "/ui/page.js", "/uid", "/v1/ui/", "/"]
  expect(paths.filter(isPagePath)).toEqual(["/ui", "/ui/", "/ui/page.js"])
})

describe("the document", () => {
  test("runs and loads nothing but the page's own files, and is in no frame", async () => {
    const [{ headers, statusCode }, body] = await get("/ui/")
    expect(statusCode).toBe(200)
    expect(headers["content-security-policy"]).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    })
    // Addresses are relative, and nothing is inline.
    const addresses = [...body.toString().matchAll(/\b(?:src|href)="([^"]*)"/g)].map(([, address = ""]) => address)
    expect(addresses.map((each) => each.replace(/^data:.*/, "data:"))).toEqual(["data:", "page.css", "page.js"])
    expect(body.toString()).not.toMatch(/<style|\bstyle=|<script(?! type="module" src="page\.js"><\/script>)/)
  })

  test("is at /ui/, also below a prefix that a proxy has removed", async () => {
    const [{ statusCode, headers }] = await get("/ui")
    expect([statusCode, new URL(headers.location ?? "", "http://localhost/prefix/ui").pathname]).toEqual([
      308,
      "/prefix/ui/",
    ])
  })

  test("is compressed for whom understands it, and not sent again to whom has it", async () => {
    const [plain, body] = await get("/ui/")
    const [compressed, fewer] = await get("/ui/", { "accept-encoding": "br, gzip" })
    expect([compressed.headers["content-encoding"], compressed.headers.vary]).toEqual(["gzip", "Accept-Encoding"])
    expect(gunzipSync(fewer)).toEqual(body)
    expect((await get("/ui/", { "accept-encoding": "gzip;q=0, identity" }))[0].headers["content-encoding"]).toBe(
      undefined,
    )
    const [again, nothing] = await get("/ui/", { "if-none-match": `"other", W/${plain.headers.etag}` })
    expect([again.statusCode, nothing.length, again.headers.etag]).toEqual([304, 0, plain.headers.etag])
  })

  test("can be asked for by its head alone, and cannot be written", async () => {
    const [{ headers, statusCode }, body] = await get("/ui/", {}, "HEAD")
    expect([statusCode, body.length, Number(headers["content-length"]) > 500]).toEqual([200, 0, true])
    expect((await get("/ui/", {}, "POST"))[0]).toMatchObject({ statusCode: 405, headers: { allow: "GET, HEAD" } })
  })
})

test("its files are those of the build and no others", async () => {
  const kinds = { "page.js": "text/javascript", "plot.js": "text/javascript", "page.css": "text/css" }
  for (const [file, type] of Object.entries(kinds)) {
    const [{ headers, statusCode }, body] = await get(`/ui/${file}`)
    expect([statusCode, headers["content-type"], body.length > 1000]).toEqual([200, `${type}; charset=utf-8`, true])
  }
  for (const path of ["/ui/other.js", "/ui/../cli.js", "/ui/%2e%2e/cli.js", "/ui//etc/passwd", "/ui/constructor"])
    expect([path, (await get(path))[0].statusCode]).toEqual([path, 404])
})
