/** A store as a process that can be stopped and started again with what it has, and the network before it. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3"
import { BlobServiceClient } from "@azure/storage-blob"
import { s3Environment } from "../../blob/s3-environment.ts"
import { freePort, type ServerProcess, startServer } from "../../blob/server-process.ts"
import { buildServers } from "./programs.ts"
import { StoreNetwork } from "./store-network.ts"

export interface AttackedStore extends AsyncDisposable {
  /** The address of a prefix. */
  readonly address: (prefix: string) => string
  /** Variables with which it is found: through the network, or as the test does, past it. */
  readonly through: NodeJS.ProcessEnv
  readonly past: NodeJS.ProcessEnv
  readonly network: StoreNetwork
  /** Kills the server. */
  down(): Promise<void>
  /** Starts it again on the same port. */
  up(): Promise<void>
}

interface StoreKind {
  readonly scheme: string
  readonly start: (directory: string, port: number) => Promise<ServerProcess>
  readonly environment: (url: string) => Readonly<Record<string, string>>
  readonly makeBucket: (url: string) => Promise<void>
}

const bucket = "recordings"

const attacked = async ({ scheme, start, environment, makeBucket }: StoreKind): Promise<AttackedStore> => {
  const directory = await mkdtemp(join(tmpdir(), `kubereel-${scheme}-`))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let server: ServerProcess | undefined = await start(directory, port)
  await makeBucket(url)
  const network = await StoreNetwork.start(port)
  const down = async (): Promise<void> => {
    await server?.stop()
    server = undefined
  }
  return {
    ...{ network, down },
    address: (prefix) => `${scheme}://${bucket}/${prefix}`,
    ...{ through: environment(network.url), past: environment(url) },
    up: async () => {
      server ??= await start(directory, port)
    },
    [Symbol.asyncDispose]: async () => {
      await network[Symbol.asyncDispose]()
      await down()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const keys = ["kubereel", "right-secret"] as const

/** S3, emulated by versitygw. */
export const attackedS3 = async (): Promise<AttackedStore> => {
  const { versitygw } = await buildServers()
  return attacked({
    scheme: "s3",
    start: (directory, port) => {
      const words = ["--port", `127.0.0.1:${port}`, "--access", keys[0], "--secret", keys[1], "posix", directory]
      return startServer(versitygw, words, /listening on:/)
    },
    environment: (url) => s3Environment(url, keys),
    makeBucket: async (endpoint) => {
      const credentials = { accessKeyId: keys[0], secretAccessKey: keys[1] }
      const client = new S3Client({ endpoint, region: "us-east-1", forcePathStyle: true, credentials })
      await client.send(new CreateBucketCommand({ Bucket: bucket }))
      client.destroy()
    },
  })
}

/** The account and key that azurite comes with; they are published. */
const account = "devstoreaccount1"
const accountKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

const connectionString = (url: string): string =>
  `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${accountKey};BlobEndpoint=${url}/${account};`

/** Azure, emulated by azurite, which forgets what it has when it is killed. */
export const attackedAzure = async (): Promise<AttackedStore> => {
  const { azurite } = await buildServers()
  return attacked({
    scheme: "azure",
    start: (_, port) => {
      const words = ["--inMemoryPersistence", "--blobPort", String(port), "--skipApiVersionCheck", "--disableTelemetry"]
      return startServer(process.execPath, [azurite, ...words], /listens on/)
    },
    environment: (url) => ({ AZURE_STORAGE_CONNECTION_STRING: connectionString(url) }),
    makeBucket: async (url) => {
      await BlobServiceClient.fromConnectionString(connectionString(url)).getContainerClient(bucket).create()
    },
  })
}
