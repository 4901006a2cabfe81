/** An object in S3 or a compatible store, read in ranges with the connection of {@link connectS3}. */
import type * as S3 from "@aws-sdk/client-s3"
import type { RangeSource } from "./open-source.ts"
import { type ImportPackage, loadSdk } from "./optional-package.ts"
import { connectS3 } from "./s3-target.ts"
import type { StoreAddress } from "./target-address.ts"

/** Requests the first byte: unlike that of a HEAD request, the response to a missing object says what is missing. */
export const openS3Source = async (
  address: StoreAddress,
  environment: NodeJS.ProcessEnv,
  importing: ImportPackage,
): Promise<RangeSource> => {
  const sdk = await loadSdk<typeof S3>(importing, "@aws-sdk/client-s3", address)
  const client = await connectS3(sdk, address, environment)
  const place = { Bucket: address.bucket, Key: address.key }
  const range = async (input: S3.GetObjectCommandInput, signal?: AbortSignal) => {
    const answer = await client.send(
      new sdk.GetObjectCommand(input),
      signal === undefined ? {} : { abortSignal: signal },
    )
    return { answer, bytes: (await answer.Body?.transformToByteArray()) ?? new Uint8Array(0) }
  }
  try {
    const { answer } = await range({ ...place, Range: "bytes=0-0" })
    const size = Number(/\/(\d+)$/.exec(answer.ContentRange ?? "")?.[1] ?? answer.ContentLength ?? 0)
    const version = answer.ETag === undefined ? {} : { IfMatch: answer.ETag }
    return {
      size,
      read: async (offset, length, signal) => {
        const input = { ...place, ...version, Range: `bytes=${offset}-${offset + length - 1}` }
        return (await range(input, signal)).bytes
      },
      close: () => client.destroy(),
    }
  } catch (cause) {
    client.destroy()
    // There is no first byte.
    if (cause instanceof sdk.S3ServiceException && cause.$metadata.httpStatusCode === 416) return empty
    throw cause
  }
}

const empty: RangeSource = { size: 0, read: async () => new Uint8Array(0), close: () => undefined }
