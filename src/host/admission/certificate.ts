/**
 * The certificate of a webhook: an authority that signs one server certificate and is then forgotten (X.509 v3, RFC
 * 5280; ECDSA with P-256). Node cannot make certificates, and libraries bring up to 20 packages
 * (docs/decisions/0020-pod-lives.md).
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"
import { isIP } from "node:net"

/** All PEM. */
export interface ServerCertificate {
  /** What clients have to trust. */
  readonly authority: string
  readonly certificate: string
  readonly key: string
}

/** For which host and how long a certificate is valid. */
interface CertificateRequest {
  /** A DNS name or an IP address. */
  readonly host: string
  /** ms since the Unix epoch; whole seconds count. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** Takes about 1 ms. */
export const makeServerCertificate = ({ host, notBeforeMs, notAfterMs }: CertificateRequest): ServerCertificate => {
  const authority = newKey()
  const server = newKey()
  const issuer = distinguishedName(`kubereel ${randomBytes(4).toString("hex")}`)
  const validity = sequence(time(notBeforeMs), time(notAfterMs))
  const issued = { issuer, validity, signer: authority }
  return {
    authority: certificate({
      ...issued,
      subject: issuer,
      key: authority,
      extensions: [
        extension(identifiers.basicConstraints, sequence(tlv(tags.boolean, Buffer.of(0xff))), true),
        // keyCertSign is bit 5.
        extension(identifiers.keyUsage, tlv(tags.bitString, Buffer.of(2, 0x04)), true),
      ],
    }),
    certificate: certificate({
      ...issued,
      // Clients check only the alternative name; a subject has at most 64 characters.
      subject: distinguishedName("kubereel webhook"),
      key: server,
      extensions: [
        // digitalSignature is bit 0.
        extension(identifiers.keyUsage, tlv(tags.bitString, Buffer.of(7, 0x80)), true),
        extension(identifiers.extendedKeyUsage, sequence(identifiers.serverAuth)),
        extension(identifiers.subjectAlternativeName, sequence(generalName(host))),
      ],
    }),
    key: server.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

const newKey = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" })

interface Contents {
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly validity: Buffer
  readonly key: KeyPair
  readonly signer: KeyPair
  readonly extensions: ReadonlyArray<Buffer>
}

const certificate = ({ issuer, subject, validity, key, signer, extensions }: Contents): string => {
  const algorithm = sequence(identifiers.ecdsaWithSha256)
  const publicKey = key.publicKey.export({ type: "spki", format: "der" })
  const signed = sequence(
    // Version 3.
    tlv(tags.explicit(0), tlv(tags.integer, Buffer.of(2))),
    // Positive and without a leading zero byte.
    tlv(tags.integer, Buffer.concat([Buffer.of(0x40), randomBytes(15)])),
    algorithm,
    issuer,
    validity,
    subject,
    publicKey,
    tlv(tags.explicit(3), sequence(...extensions, ...keyIdentifiers(key, signer))),
  )
  const signature = sign("sha256", signed, signer.privateKey)
  const der = sequence(signed, algorithm, tlv(tags.bitString, Buffer.of(0), signature))
  const lines = der.toString("base64").match(/.{1,64}/g) ?? []
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n")
}

/** By these a client finds the issuer among several authorities. */
const keyIdentifiers = (key: KeyPair, signer: KeyPair): ReadonlyArray<Buffer> => [
  extension(identifiers.subjectKeyIdentifier, tlv(tags.octetString, identifierOf(key))),
  extension(identifiers.authorityKeyIdentifier, sequence(tlv(tags.implicit(0), identifierOf(signer)))),
]

const identifierOf = ({ publicKey }: KeyPair): Buffer =>
  createHash("sha1")
    .update(publicKey.export({ type: "spki", format: "der" }))
    .digest()

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  implicit: (number: number) => 0x80 | number,
  explicit: (number: number) => 0xa0 | number,
} as const

/** Tag, length, value. */
const tlv = (tag: number, ...parts: ReadonlyArray<Uint8Array>): Buffer => {
  const value = Buffer.concat(parts)
  const { length } = value
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), value])
  const size = length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff)
  return Buffer.concat([Buffer.of(tag), size, value])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>): Buffer => tlv(tags.sequence, ...parts)

const objectIdentifier = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap((number) => {
    // Base 128, the last byte without the high bit.
    const digits = [number & 0x7f]
    for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    return digits
  })
  return tlv(tags.objectIdentifier, Buffer.from(bytes))
}

const identifiers = {
  commonName: objectIdentifier("2.5.4.3"),
  subjectKeyIdentifier: objectIdentifier("2.5.29.14"),
  keyUsage: objectIdentifier("2.5.29.15"),
  subjectAlternativeName: objectIdentifier("2.5.29.17"),
  basicConstraints: objectIdentifier("2.5.29.19"),
  authorityKeyIdentifier: objectIdentifier("2.5.29.35"),
  extendedKeyUsage: objectIdentifier("2.5.29.37"),
  serverAuth: objectIdentifier("1.3.6.1.5.5.7.3.1"),
  ecdsaWithSha256: objectIdentifier("1.2.840.10045.4.3.2"),
} as const

const distinguishedName = (commonName: string): Buffer =>
  sequence(tlv(tags.set, sequence(identifiers.commonName, tlv(tags.utf8String, Buffer.from(commonName)))))

const extension = (identifier: Buffer, value: Buffer, isCritical = false): Buffer =>
  sequence(identifier, ...(isCritical ? [tlv(tags.boolean, Buffer.of(0xff))] : []), tlv(tags.octetString, value))

/** RFC 5280 wants two digits of the year up to 2049. */
const time = (ms: number): Buffer => {
  const digits = `${new Date(ms).toISOString().slice(0, 19).replaceAll(/[-T:]/g, "")}Z`
  return digits < "2050"
    ? tlv(tags.utcTime, Buffer.from(digits.slice(2)))
    : tlv(tags.generalizedTime, Buffer.from(digits))
}

const generalName = (host: string): Buffer =>
  isIP(host) === 0 ? tlv(tags.implicit(2), Buffer.from(host, "ascii")) : tlv(tags.implicit(7), addressBytes(host))

const addressBytes = (address: string): Buffer => {
  if (isIP(address) === 4) return Buffer.from(address.split(".").map(Number))
  // The URL parser writes an address with its groups in hexadecimal, also one that ends like IPv4.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::")
  const groupsOf = (text: string): string[] => (text === "" ? [] : text.split(":"))
  const [before, after] = [groupsOf(head), groupsOf(tail ?? "")]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0")
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, "0")).join(""), "hex")
}
