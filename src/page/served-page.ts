/**
 * The page, served: a document without anything of its own, and the script and style that the build made (src/ui). Everything that it shows it asks for at
 * addresses relative to its own, so it works below any prefix, such as that of the API server's service proxy.
 *
 * Guarantee: it runs and loads nothing but these files, is in no frame of another page, and reveals nothing, so it needs no token.
 */

import { hash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import { builtFile, type PageFile } from "./built-page.ts"

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ")

const headers = {
  "Cache-Control": "no-cache",
  "Content-Security-Policy": policy,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
}

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M1 3h9v3H1zm4 4h10v3H5zm-2 4h6v3H3z' fill='%23377cf6'/%3E%3C/svg%3E"

/** The script draws into `#page`. */
const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>kubereel</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. Without it: reel events, reel history and reel get.</noscript>
</body>
</html>
`

const types: Readonly<Record<Exclude<PageFile, "file.js">, string>> = {
  "page.js": "text/javascript; charset=utf-8",
  "page.css": "text/css; charset=utf-8",
  "plot.js": "text/javascript; charset=utf-8",
}

interface Served {
  readonly type: string
  readonly tag: string
  readonly plain: Buffer
  readonly compressed: Buffer
}

/** By name, from when it was first asked for: a recorder that shows no page keeps none. */
const served = new Map<string, Served | undefined>()

const contentOf = (name: string): readonly [type: string, content: Buffer | undefined] => {
  if (name === "") return ["text/html; charset=utf-8", Buffer.from(document)]
  return name === "page.js" || name === "page.css" || name === "plot.js"
    ? [types[name], builtFile(name)]
    : ["", undefined]
}

const find = (name: string): Served | undefined => {
  if (served.has(name)) return served.get(name)
  const [type, plain] = contentOf(name)
  if (plain === undefined) return undefined
  const found = {
    type,
    tag: `"${hash("sha256", plain, "base64url")}"`,
    plain,
    compressed: gzipSync(plain, { level: 9 }),
  }
  served.set(name, found)
  return found
}

/** Whether the page, or a file of it, is at this path. */
export const isPagePath = (path: string): boolean => path === "/ui" || path.startsWith("/ui/")

/** Answers a request for a path that {@link isPagePath} is true for. */
export const servePage = (
  { method, headers: asked }: IncomingMessage,
  response: ServerResponse,
  path: string,
): void => {
  const end = (status: number, more: Readonly<Record<string, string | number>>, body: Buffer | string): void => {
    const length = status === 304 ? {} : { "Content-Length": Buffer.byteLength(body) }
    response.writeHead(status, { ...headers, ...more, ...length })
    response.end(method === "HEAD" ? undefined : body)
  }
  const say = (status: number, text: string, more: Readonly<Record<string, string>> = {}): void =>
    end(status, { "Content-Type": "text/plain; charset=utf-8", ...more }, `${text}\n`)
  if (method !== "GET" && method !== "HEAD") return say(405, "only GET and HEAD are allowed", { Allow: "GET, HEAD" })
  // Relative, because a proxy in front may have removed a prefix.
  if (path === "/ui") return say(308, "see ui/", { Location: "ui/" })
  const found = find(path.slice("/ui/".length))
  if (found === undefined) return say(404, "not found; the page is /ui/. If it is not built: npm run build")
  const { type, tag, plain, compressed } = found
  const isCompressed = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))/.test(String(asked["accept-encoding"] ?? ""))
  const common = { ETag: tag, Vary: "Accept-Encoding" }
  const known = (asked["if-none-match"] ?? "").split(",").map((each) => each.trim().replace(/^W\//, ""))
  if (known.includes(tag)) return end(304, common, "")
  if (isCompressed) return end(200, { ...common, "Content-Type": type, "Content-Encoding": "gzip" }, compressed)
  return end(200, { ...common, "Content-Type": type }, plain)
}
