/** The variables with which the S3 client asks a server of the test, and nothing of the machine's user applies. */
export const s3Environment = (
  url: string,
  [accessKey, secretKey]: readonly [string, string] = ["some", "secret"],
): Readonly<Record<string, string>> => ({
  AWS_ENDPOINT_URL: url,
  AWS_ACCESS_KEY_ID: accessKey,
  AWS_SECRET_ACCESS_KEY: secretKey,
  AWS_CONFIG_FILE: "/dev/null",
  AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
  AWS_EC2_METADATA_DISABLED: "true",
})
