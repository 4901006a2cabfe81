/** S3, emulated by versitygw, which supports the checksums that the SDK sends by default. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CreateBucketCommand, GetObjectCommand, ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3"
import { vi } from "vitest"
import { describeStore, type StoreServer } from "../../blob/objects/store-contract.ts"
import { s3Environment } from "../../blob/s3-environment.ts"
import { freePort, startServer } from "../../blob/server-process.ts"
import {
  describeBlobStore,
  describeFailures,
  httpResponse,
  testedStore,
} from "../../blob/stores/blob-store-contract.ts"
import { buildMs, buildServers } from "./programs.ts"

vi.setConfig({ hookTimeout: buildMs })

const start = async (): Promise<StoreServer> => {
  const { versitygw } = await buildServers()
  const directory = await mkdtemp(join(tmpdir(), "kubereel-s3-"))
  const url = `http://127.0.0.1:${await freePort()}`
  const words = ["--port", url.slice(7), "--access", "kubereel", "--secret", "right-secret", "posix"]
  const server = await startServer(versitygw, [...words, directory], /listening on:/)
  const environment = s3Environment(url, ["kubereel", "right-secret"])
  const credentials = { accessKeyId: "kubereel", secretAccessKey: "right-secret" }
  const client = new S3Client({ endpoint: url, region: "us-east-1", forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: "traces" }))
  return {
    environment,
    elsewhere: (other) => ({ AWS_ENDPOINT_URL: other }),
    read: async (key) => {
      try {
        const answer = await client.send(new GetObjectCommand({ Bucket: "traces", Key: key }))
        return await answer.Body?.transformToByteArray()
      } catch (cause) {
        if (cause instanceof Error && cause.name === "NoSuchKey") return undefined
        throw cause
      }
    },
    contentType: async (key) => {
      const answer = await client.send(new GetObjectCommand({ Bucket: "traces", Key: key }))
      await answer.Body?.transformToByteArray()
      return answer.ContentType
    },
    unfinished: async () => {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: "traces" }))
      return Uploads.map(({ Key, UploadId }) => `${Key}: ${UploadId}`)
    },
    stop: async () => {
      client.destroy()
      await server.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const wrongSecret = (): Readonly<Record<string, string>> => ({ AWS_SECRET_ACCESS_KEY: "another-secret" })

describeStore("s3", start, wrongSecret)

const busy = httpResponse(
  "503 Slow Down",
  ["Content-Type: application/xml"],
  "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>",
)
const startStore = async () => testedStore("s3", await start(), { busy, wrongSecret })
describeBlobStore("S3", startStore)
describeFailures("S3", startStore)
