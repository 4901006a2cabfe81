import { execFileSync } from "node:child_process"
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { readTokenFile, tokenFileAccess } from "../../../src/recorder/access/token-file.ts"

const [first, second] = ["first-of-the-tokens", "second-of-the-tokens"]

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubereel-tokens-"))
  path = join(folder, "tokens")
})
afterEach(() => rm(folder, { recursive: true }))

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test("a client with a token from the file may do everything, and is identified by the token's line", async () => {
  await writeFile(path, `${first}\n\n  ${second}\r\n`)
  const access = tokenFileAccess(path, () => expect.unreachable())
  expect(await access.decide(bearer(first), "export")).toEqual({ tag: "allowed", who: "the holder of token 1" })
  expect(await access.decide(bearer(second), "metrics")).toEqual({ tag: "allowed", who: "the holder of token 2" })
  for (const wrong of ["another-token-of-some-length", first.slice(0, -1), `${first}x`])
    expect(await access.decide(bearer(wrong), "coverage")).toMatchObject({ tag: "refused", status: 401 })
  expect(await access.decide({}, "export")).toMatchObject({ tag: "refused", status: 401 })
})

test("a replaced token takes effect with the next request, and the old one no longer works", async () => {
  await writeFile(path, first)
  const access = tokenFileAccess(path, () => expect.unreachable())
  expect((await access.decide(bearer(first), "export")).tag).toBe("allowed")
  // As kubelets do it: another file is moved to the name.
  await writeFile(`${path}.new`, second)
  await rename(`${path}.new`, path)
  expect((await access.decide(bearer(first), "export")).tag).toBe("refused")
  expect((await access.decide(bearer(second), "export")).tag).toBe("allowed")
})

test("an unusable file gives no one access, and is reported once, and again when it can be used", async () => {
  const said: (string | undefined)[] = []
  const access = tokenFileAccess(path, (error) => said.push(error?.message))
  const decide = async () => {
    const decision = await access.decide(bearer(first), "export")
    return decision.tag === "refused" ? decision.status : decision.who
  }
  expect([await decide(), await decide()]).toEqual([503, 503])
  await writeFile(path, "\n")
  expect(await decide()).toBe(503)
  await writeFile(path, first)
  expect([await decide(), await decide()]).toEqual(["the holder of token 1", "the holder of token 1"])
  expect(said).toEqual([
    expect.stringContaining("file not found"),
    expect.stringContaining("it contains no token"),
    undefined,
  ])
})

test("a pipe or a directory in its place is rejected at once, however many requests ask", async () => {
  execFileSync("mkfifo", [path])
  const access = tokenFileAccess(path, () => undefined)
  const decisions = await Promise.all(Array.from({ length: 8 }, () => access.decide(bearer(first), "export")))
  expect(decisions.map((decision) => decision.tag === "refused" && decision.status)).toEqual(Array(8).fill(503))
  await expect(readTokenFile(path)).rejects.toThrow(`the token file ${path} cannot be used: it is not a regular file`)
  await expect(readTokenFile(folder)).rejects.toThrow("it is a directory")
  await rm(path)
  await writeFile(path, `${first}\n`.repeat(60_000))
  await expect(readTokenFile(path)).rejects.toThrow("it has 1200000 bytes; at most 1048576 are allowed")
})

test.each([
  ["short", "line 1 is shorter than 16 characters"],
  [`${first}\nwith a space in the middle`, "line 2 contains characters that are not allowed in a bearer token"],
  [`apiVersion: v1\nkind: Secret`, "line 1 contains characters"],
])("%j is no file of tokens, and what is said holds nothing of it", async (content, reason) => {
  await writeFile(path, content)
  const error = await readTokenFile(path).catch((cause: Error) => cause)
  expect(String(error)).toContain(reason)
  for (const word of ["short", "middle", "apiVersion"])
    if (content.includes(word)) expect(String(error).replace(/is shorter/, "")).not.toContain(word)
})
