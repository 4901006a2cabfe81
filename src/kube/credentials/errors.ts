/**
 * All errors of loading credentials. Each names the file or setting to check, what was found and what was expected; none contains
 * a secret.
 */
import * as Schema from "effect/Schema"
import { messageOf } from "../../message-of.ts"

/** No kubeconfig was given, none is in the usual places, and this is not a pod. */
export class NoClusterConfigured extends Schema.TaggedError<NoClusterConfigured>()("NoClusterConfigured", {
  /** The places that were searched, in words. */
  looked: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `no cluster is configured: tried ${this.looked.join(", ")}; name a kubeconfig with --kubeconfig or KUBECONFIG`
  }
}

/** A kubeconfig cannot be read. */
export class KubeconfigUnreadable extends Schema.TaggedError<KubeconfigUnreadable>()("KubeconfigUnreadable", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `kubeconfig ${this.path} cannot be read: ${this.reason}`
  }
}

/** A kubeconfig is invalid. */
export class KubeconfigInvalid extends Schema.TaggedError<KubeconfigInvalid>()("KubeconfigInvalid", {
  path: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `kubeconfig ${this.path}: ${this.reason}`
  }
}

/** The requested context does not exist, or none was requested and no file sets a current context. */
export class ContextNotFound extends Schema.TaggedError<ContextNotFound>()("ContextNotFound", {
  /** Empty if none was requested. */
  context: Schema.String,
  existing: Schema.Array(Schema.String),
  paths: Schema.Array(Schema.String),
}) {
  override get message(): string {
    const where = `in ${this.paths.join(", ")}`
    const existing =
      this.existing.length === 0 ? "it has no contexts" : `existing contexts: ${this.existing.join(", ")}`
    return this.context === ""
      ? `no current context is set ${where}; name one with --context; ${existing}`
      : `context "${this.context}" not found ${where}; ${existing}`
  }
}

/** A context names a cluster or user that does not exist. */
export class ContextIncomplete extends Schema.TaggedError<ContextIncomplete>()("ContextIncomplete", {
  context: Schema.String,
  missing: Schema.Literals(["cluster", "user"]),
  name: Schema.String,
  existing: Schema.Array(Schema.String),
  path: Schema.String,
}) {
  override get message(): string {
    const existing =
      this.existing.length === 0
        ? `it has no ${this.missing}s`
        : `existing ${this.missing}s: ${this.existing.join(", ")}`
    return `context "${this.context}" in ${this.path} names ${this.missing} "${this.name}", which does not exist; ${existing}`
  }
}

/** After a 401 the kubeconfig was read again, and its context now has another server. One recording must not mix two clusters. */
export class ContextMoved extends Schema.TaggedError<ContextMoved>()("ContextMoved", {
  context: Schema.String,
  before: Schema.String,
  now: Schema.String,
}) {
  override get message(): string {
    return `context "${this.context}" now points to ${this.now} instead of ${this.before}; restart to use it`
  }
}

/** A token, certificate or key file cannot be used. */
export class CredentialFileUnusable extends Schema.TaggedError<CredentialFileUnusable>()("CredentialFileUnusable", {
  /** `token`, `client certificate`, … */
  purpose: Schema.String,
  path: Schema.String,
  /** The context that names it. */
  context: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.purpose} file ${this.path} of context "${this.context}" ${this.reason}`
  }
}

/** An exec plugin did not return a credential. */
export class ExecPluginFailed extends Schema.TaggedError<ExecPluginFailed>()("ExecPluginFailed", {
  command: Schema.String,
  context: Schema.String,
  reason: Schema.String,
  /** The end of its standard error, on one line; may be empty. */
  stderr: Schema.String,
  /** The kubeconfig's hint about installing it; may be empty. */
  installHint: Schema.String,
}) {
  override get message(): string {
    const said = this.stderr === "" ? "" : `; its output: ${this.stderr}`
    const hint = this.installHint === "" ? "" : `; ${this.installHint}`
    return `credential plugin "${this.command}" of context "${this.context}" ${this.reason}${said}${hint}`
  }
}

/** A legacy auth provider (`oidc`, `gcp`, `azure`) did not return a token. */
export class AuthProviderFailed extends Schema.TaggedError<AuthProviderFailed>()("AuthProviderFailed", {
  provider: Schema.String,
  context: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `auth provider "${this.provider}" of context "${this.context}" ${this.reason}`
  }
}

/** A setting that is valid for kubectl but not supported here, or that contradicts another. */
export class UnsupportedSetting extends Schema.TaggedError<UnsupportedSetting>()("UnsupportedSetting", {
  /** Its name and place: `proxy-url of cluster "x"`, `HTTPS_PROXY`, … */
  setting: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.setting} ${this.reason}`
  }
}

export type CredentialsError =
  | NoClusterConfigured
  | KubeconfigUnreadable
  | KubeconfigInvalid
  | ContextNotFound
  | ContextIncomplete
  | ContextMoved
  | CredentialFileUnusable
  | ExecPluginFailed
  | AuthProviderFailed
  | UnsupportedSetting

/** Distinguishes errors of this folder from defects. */
export const isCredentialsError = (error: unknown): error is CredentialsError =>
  [
    NoClusterConfigured,
    KubeconfigUnreadable,
    KubeconfigInvalid,
    ContextNotFound,
    ContextIncomplete,
    ContextMoved,
    CredentialFileUnusable,
    ExecPluginFailed,
    AuthProviderFailed,
    UnsupportedSetting,
  ].some((known) => error instanceof known)

/** A file system error in words: `does not exist`, `cannot be read by this user`, or Node's text. */
export const describeFileError = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? error.code : undefined
  if (code === "ENOENT") return "does not exist"
  if (code === "EACCES" || code === "EPERM") return "cannot be read by this user"
  if (code === "EISDIR") return "is a directory"
  return `cannot be read: ${messageOf(error)}`
}
