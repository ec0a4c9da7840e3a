import { attempt } from './attempt.ts'

/** Undefined for bytes that are not UTF-8. Omits a byte order mark. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  return attempt(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes))
}
