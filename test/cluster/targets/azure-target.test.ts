/** Azure Blob Storage, emulated by azurite. */
import { BlobServiceClient, type ContainerClient, ContainerSASPermissions, RestError } from "@azure/storage-blob"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { type ExportTarget, openTarget, readTargetPath } from "../../../src/blob/index.ts"
import { describeStore, type StoreServer } from "../../blob/objects/store-contract.ts"
import { startServer } from "../../blob/server-process.ts"
import {
  describeBlobStore,
  describeFailures,
  httpResponse,
  testedStore,
} from "../../blob/stores/blob-store-contract.ts"
import { buildMs, buildServers } from "./programs.ts"

vi.setConfig({ hookTimeout: buildMs })

/** The account and key that azurite comes with; they are published. */
const account = "devstoreaccount1"
const accountKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

const connectionString = (url: string): string =>
  `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${accountKey};BlobEndpoint=${url}/${account};`

interface Azurite extends StoreServer {
  readonly container: ContainerClient
}

const start = async (): Promise<Azurite> => {
  const { azurite } = await buildServers()
  const words = [azurite, "--inMemoryPersistence", "--blobPort", "0", "--skipApiVersionCheck", "--disableTelemetry"]
  const { ready, stop } = await startServer(process.execPath, words, /listens on (http:\S+)/)
  const url = ready[1] ?? ""
  const container = BlobServiceClient.fromConnectionString(connectionString(url)).getContainerClient("traces")
  await container.create()
  return {
    container,
    environment: { AZURE_STORAGE_CONNECTION_STRING: connectionString(url) },
    elsewhere: (other) => ({ AZURE_STORAGE_CONNECTION_STRING: connectionString(other) }),
    read: async (key) => {
      try {
        return await container.getBlobClient(key).downloadToBuffer()
      } catch (cause) {
        if (cause instanceof RestError && cause.statusCode === 404) return undefined
        throw cause
      }
    },
    contentType: async (key) => (await container.getBlobClient(key).getProperties()).contentType,
    unfinished: async () => {
      const found: string[] = []
      for await (const { name } of container.listBlobsFlat({ includeUncommitedBlobs: true })) {
        const { uncommittedBlocks = [] } = await container.getBlockBlobClient(name).getBlockList("uncommitted")
        found.push(...uncommittedBlocks.map((block) => `${name}: ${block.name}`))
      }
      return found
    },
    stop,
  }
}

const wrongSecret = ({ environment }: StoreServer): Readonly<Record<string, string>> => ({
  AZURE_STORAGE_CONNECTION_STRING: (environment.AZURE_STORAGE_CONNECTION_STRING ?? "").replace(
    accountKey,
    Buffer.alloc(64, 7).toString("base64"),
  ),
})

describeStore("azure", start, wrongSecret)

const busy = httpResponse(
  "503 Server Busy",
  ["Content-Type: application/xml", "x-ms-error-code: ServerBusy"],
  "<Error><Code>ServerBusy</Code><Message>The server is busy.</Message></Error>",
)
const startStore = async () => testedStore("azure", await start(), { busy, wrongSecret })
describeBlobStore("Azure", startStore)
describeFailures("Azure", startStore)

describe("a blob that an export was to replace, and did not", () => {
  let server: Azurite
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.stop())

  const open = (key: string, connection: string | undefined): Promise<ExportTarget> => {
    const reading = readTargetPath(`azure://traces/${key}`)
    if (reading.tag !== "store" || connection === undefined) throw new Error(`${key} names no object`)
    const environment = { AZURE_STORAGE_CONNECTION_STRING: connection }
    return Effect.runPromise(openTarget(reading.address, { environment }))
  }
  const ours = (): string | undefined => server.environment.AZURE_STORAGE_CONNECTION_STRING
  // More than may be in flight, so that a part is certain to have been staged.
  const someParts = Buffer.alloc(25 * 1024 * 1024, 1)

  test("keeps its metadata and headers", async () => {
    const blob = server.container.getBlockBlobClient("described")
    const block = Buffer.from("block-1").toString("base64")
    await blob.stageBlock(block, "before", 6)
    const blobHTTPHeaders = { blobContentType: "text/plain", blobCacheControl: "no-cache" }
    await blob.commitBlockList([block], { metadata: { owner: "somebody" }, blobHTTPHeaders })
    const target = await open("described", ours())
    await target.write(someParts)
    await target.abort("the client went away")
    expect(await blob.getProperties()).toMatchObject({
      contentLength: 6,
      metadata: { owner: "somebody" },
      contentType: "text/plain",
      cacheControl: "no-cache",
    })
    expect(await server.unfinished()).toEqual([])
  })

  test("is left alone when it was not made of blocks, and the rejection says what stays", async () => {
    const blob = server.container.getBlockBlobClient("in-one-piece")
    await blob.upload("before", 6)
    const { etag } = await blob.getProperties()
    const target = await open("in-one-piece", ours())
    await target.write(someParts)
    await expect(target.abort("the client went away")).rejects.toMatchObject({
      _tag: "TargetError",
      reason: expect.stringContaining("stay beside the previous blob until it is written again"),
    })
    expect((await blob.downloadToBuffer()).toString()).toBe("before")
    expect((await blob.getProperties()).etag).toBe(etag)
    // The next export to it removes them.
    const next = await open("in-one-piece", ours())
    await next.write(Buffer.from("after"))
    await next.finish()
    expect(await server.unfinished()).toEqual([])
  })

  test("is written with a signature that lets one write and nothing else", async () => {
    const permissions = ContainerSASPermissions.parse("cw")
    const expiresOn = new Date(Date.now() + 3_600_000)
    const signed = await server.container.generateSasUrl({ permissions, expiresOn })
    const { origin, search } = new URL(signed)
    const connection = `BlobEndpoint=${origin}/${account};SharedAccessSignature=${search.slice(1)}`
    const target = await open("write-only", connection)
    await target.write(Buffer.from("hello"))
    await target.finish()
    expect(Buffer.from((await server.read("write-only")) ?? "").toString()).toBe("hello")
  })
})
