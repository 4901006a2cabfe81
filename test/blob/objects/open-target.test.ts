/** What is decided before a store has responded, and what happens to a response that comes too late. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CreateMultipartUploadCommand, S3Client, type S3ClientConfig } from "@aws-sdk/client-s3"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import { readTargetPath, type StoreAddress } from "../../../src/blob/addresses/target-address.ts"
import { type OpenTargetOptions, openTarget } from "../../../src/blob/objects/open-target.ts"
import { targetDeadlines } from "../../../src/blob/objects/part-writer.ts"
import type { TargetError } from "../../../src/blob/requests/target-error.ts"
import { ManualClock } from "../../runtime/manual-clock.ts"
import { until } from "../../runtime/until.ts"

const addressOf = (path: string): StoreAddress => {
  const reading = readTargetPath(path)
  if (reading.tag !== "store") throw new Error(`${path} names no object`)
  return reading.address
}

const failure = async (path: string, options: OpenTargetOptions = {}): Promise<TargetError> => {
  const outcome = await Effect.runPromise(Effect.result(openTarget(addressOf(path), options)))
  if (outcome._tag === "Success") throw new Error("it was opened")
  return outcome.failure
}

/** Hides everything that the machine's user has configured. */
const bareMachine = {
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_PROFILE: undefined,
}

beforeEach(() => {
  for (const [name, value] of Object.entries(bareMachine)) vi.stubEnv(name, value)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

describe("without credentials", () => {
  test("S3 is not contacted", async () => {
    expect(await failure("s3://traces/a")).toMatchObject({
      code: "credentials",
      reason: expect.stringMatching(/credentials/i),
    })
  })

  test("Google's missing key file is named", async () => {
    const environment = { GOOGLE_SERVICE_ACCOUNT: "/nowhere/key.json" }
    expect(await failure("gs://traces/a", { environment })).toMatchObject({
      code: "credentials",
      reason: expect.stringContaining("/nowhere/key.json"),
    })
  })

  test("Azure needs an account", async () => {
    const error = await failure("azure://traces/a", { environment: {} })
    expect(error).toMatchObject({ code: "credentials", reason: expect.stringContaining("AZURE_STORAGE_ACCOUNT_NAME") })
  })

  test("an invalid Azure connection string is not repeated", async () => {
    const environment = { AZURE_STORAGE_CONNECTION_STRING: "AccountKey=hush" }
    const error = await failure("azure://traces/a", { environment })
    expect(error).toMatchObject({
      code: "credentials",
      reason: expect.stringContaining("AZURE_STORAGE_CONNECTION_STRING"),
    })
    expect(error.message).not.toContain("hush")
  })

  test("an Azure account does not get the secret of another account", async () => {
    const environment = {
      AZURE_STORAGE_CONNECTION_STRING: `DefaultEndpointsProtocol=https;EndpointSuffix=core.windows.net;AccountName=ours;AccountKey=${Buffer.alloc(64).toString("base64")}`,
      AZURE_STORAGE_ACCOUNT_NAME: "ours",
      AZURE_STORAGE_ACCOUNT_KEY: Buffer.alloc(64).toString("base64"),
      AZURE_STORAGE_SAS_TOKEN: "sv=1&sig=hush",
    }
    const asked: string[] = []
    const importing = async (name: string): Promise<unknown> => {
      asked.push(name)
      if (name === "@azure/identity") throw Object.assign(new Error(name), { code: "ERR_MODULE_NOT_FOUND" })
      return await import(name)
    }
    // Without any of those, the default chain is used.
    const error = await failure("https://theirs.blob.core.windows.net/traces/a", { environment, importing })
    expect(error).toMatchObject({ code: "package-missing", reason: expect.stringContaining("@azure/identity") })
    expect(asked).toEqual(["@azure/storage-blob", "@azure/identity"])
  })
})

describe("S3 is contacted", () => {
  test.each([
    ["s3://traces/a", {}, { region: "eu-west-1", forcePathStyle: false }],
    ["s3://traces/a", { AWS_ENDPOINT_URL: "http://minio:9000" }, { region: "eu-west-1", forcePathStyle: true }],
    [
      "https://traces.s3.us-east-2.amazonaws.com/a",
      { AWS_ENDPOINT_URL: "http://minio:9000" },
      { region: "us-east-2", endpoint: "https://s3.us-east-2.amazonaws.com" },
    ],
    ["https://s3.amazonaws.com/traces/a", {}, { region: "eu-west-1", endpoint: "https://s3.eu-west-1.amazonaws.com" }],
    [
      "https://0a.r2.cloudflarestorage.com/traces/a",
      {},
      { region: "auto", endpoint: "https://0a.r2.cloudflarestorage.com", forcePathStyle: true },
    ],
  ])("for %s with %j where the URL says, otherwise where the environment says", async (path, environment, expected) => {
    vi.stubEnv("AWS_REGION", "eu-west-1")
    const seen: unknown[] = []
    /** Records its options instead of contacting Amazon. */
    class NotedClient extends S3Client {
      constructor(options: S3ClientConfig) {
        super(options)
        seen.push(options)
      }
      override send(): Promise<never> {
        return Promise.reject(new Error("noted"))
      }
    }
    const importing = async (): Promise<unknown> => ({ CreateMultipartUploadCommand, S3Client: NotedClient })
    expect(await failure(path, { environment, importing })).toMatchObject({ reason: "noted" })
    expect(seen.at(-1)).toMatchObject(expected)
    expect(Object.hasOwn(seen.at(-1) as object, "endpoint")).toBe(Object.hasOwn(expected, "endpoint"))
  })
})

test("Google is contacted with the contents of the file in SimKube's variable", async () => {
  const directory = await mkdtemp(join(tmpdir(), "kubereel-key-"))
  const asked: Array<string | null> = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      asked.push(new URLSearchParams(Buffer.concat(chunks).toString()).get("subject_token"))
      const answer = { error: "invalid_grant", error_description: "it is not known here" }
      response.writeHead(400, { "Content-Type": "application/json" }).end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    // A federated identity: unlike a service account's key, its file names the server to contact, so nothing else is contacted here.
    const [identity, token] = [join(directory, "identity.json"), join(directory, "token")]
    await writeFile(token, "our token")
    const content = {
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `http://127.0.0.1:${port}/token`,
      credential_source: { file: token },
    }
    await writeFile(identity, JSON.stringify(content))
    const error = await failure("gs://traces/a", { environment: { GOOGLE_SERVICE_ACCOUNT: identity } })
    expect(error).toMatchObject({ code: "credentials", reason: expect.stringContaining("it is not known here") })
    expect(new Set(asked)).toEqual(new Set(["our token"]))
  } finally {
    server.close()
    server.closeAllConnections()
    await rm(directory, { recursive: true })
  }
})

describe("a late response", () => {
  interface SlowStore {
    readonly requests: ReadonlyArray<string>
    readonly answerCreation: () => void
    readonly stop: () => void
  }

  /** The part of S3 that is needed to start and abort an upload; the response to the start is held back. */
  const startSlowStore = (): Promise<SlowStore> =>
    new Promise((resolve) => {
      const requests: string[] = []
      const held: ServerResponse[] = []
      const server = createServer((request: IncomingMessage, response) => {
        const url = new URL(request.url ?? "/", "http://localhost")
        requests.push(
          `${request.method} ${url.searchParams.get("uploadId") ?? (url.searchParams.has("uploads") ? "begin" : "")}`,
        )
        request.resume()
        if (request.method === "POST") held.push(response)
        else if (request.method === "DELETE") response.writeHead(204).end()
        else
          response.writeHead(404, { "Content-Type": "application/xml" }).end("<Error><Code>NoSuchUpload</Code></Error>")
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        vi.stubEnv("AWS_ENDPOINT_URL", `http://127.0.0.1:${port}`)
        vi.stubEnv("AWS_ACCESS_KEY_ID", "key")
        vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret")
        const body = "<InitiateMultipartUploadResult><UploadId>late</UploadId></InitiateMultipartUploadResult>"
        resolve({
          requests,
          answerCreation: () => held.pop()?.writeHead(200, { "Content-Type": "application/xml" }).end(body),
          stop: () => {
            server.close()
            server.closeAllConnections()
          },
        })
      })
    })

  test("after the deadline starts nothing that stays", async () => {
    const store = await startSlowStore()
    const clock = new ManualClock()
    const failed = failure("s3://traces/a", { clock })
    await until(() => store.requests.length === 1)
    clock.advance(targetDeadlines.openMs)
    expect(await failed).toMatchObject({ code: "deadline" })
    store.answerCreation()
    await until(() => store.requests.includes("DELETE late"))
    store.stop()
  })

  test("after the client disconnected starts nothing that stays", async () => {
    const store = await startSlowStore()
    const fiber = Effect.runFork(openTarget(addressOf("s3://traces/a"), { clock: new ManualClock() }))
    await until(() => store.requests.length === 1)
    await Effect.runPromise(Fiber.interrupt(fiber))
    store.answerCreation()
    await until(() => store.requests.includes("DELETE late"))
    store.stop()
  })
})
