/** For users of `--allow-secrets`, without which `v1.Secret` was refused, because its values were recorded in plain text. */
export const allowSecretsAdvice =
  "--allow-secrets is deprecated and ignored: v1.Secret is recorded with redacted values. To record them in plain text, use --secrets-in-plain-text"
