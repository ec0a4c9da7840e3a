const MIN_SECRET_LENGTH = 32

/** Why a secret must not be used, as the end of a sentence about it; undefined when it is long enough. */
export function findSecretProblem(secret: string): string | undefined {
  if (secret.length >= MIN_SECRET_LENGTH) return undefined
  return `it must have at least ${MIN_SECRET_LENGTH} characters`
}
