import { randomBytes } from 'node:crypto'

/** What `createObjectName` returns, with the suffix of a run that the folder adds. */
const NAME = /^[0-9a-f]{4}-([0-9a-z]{8,9})-[0-9a-f]{12}(?:h[0-9a-f]{12})?(?:\.[0-9a-f]{8})?$/

/** Position of the mark of a name that contains the beginning of its content's hash. */
const HASH_MARK = 26
const HASH_DIGITS = 12

interface NameParts {
  /** The first digits, where an engine chooses them. */
  prefix?: string
  /** Of the content, where it is known before the object is created. */
  hash?: string
}

/**
 * A name for a new object: four random digits, by which engines spread objects over folders or partitions, the time of
 * its creation, and 48 random bits; then the beginning of the hash, by which its row is found without an index.
 */
export function createObjectName(now: number, { prefix = '', hash }: NameParts = {}): string {
  const random = randomBytes(8).toString('hex')
  const name = `${prefix}${random.slice(prefix.length, 4)}-${now.toString(36).padStart(8, '0')}-${random.slice(4)}`
  return hash === undefined || name.length !== HASH_MARK ? name : `${name}h${hash.slice(0, HASH_DIGITS)}`
}

/** Milliseconds since 1970; undefined for names that `createObjectName` has not created. */
export function objectCreatedAt(name: string): number | undefined {
  const [, time] = NAME.exec(name) ?? []
  return time === undefined ? undefined : Number.parseInt(time, 36)
}

/** The beginning of the hash of the content; undefined for names without it, for which there is an index. */
export function objectHashPrefix(name: string): string | undefined {
  return name[HASH_MARK] === 'h' ? name.slice(HASH_MARK + 1, HASH_MARK + 1 + HASH_DIGITS) : undefined
}
