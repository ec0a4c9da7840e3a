/** Number of interned strings: a power of two. A few megabytes at most. */
const MAX_STRINGS = 16_384
const MAX_STRING_BYTES = 128

/** By hash; a collision replaces the earlier string. */
const interned: (string | undefined)[] = new Array(MAX_STRINGS)

/**
 * Interns the characters of a chunk from `from` up to `to`, as latin1. Hosts and paths repeat: the same
 * string is returned for the same bytes while it is cached, so that it is neither created nor hashed again.
 */
export function intern(chunk: Buffer, from: number, to: number): string {
  if (to - from > MAX_STRING_BYTES) return chunk.toString('latin1', from, to)
  let hash = 0
  for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + chunk[at]!) | 0
  const place = hash & (MAX_STRINGS - 1)
  const known = interned[place]
  if (known !== undefined && equalsBytes(known, chunk, from, to)) return known
  const word = chunk.toString('latin1', from, to)
  interned[place] = word
  return word
}

function equalsBytes(word: string, chunk: Buffer, from: number, to: number): boolean {
  if (word.length !== to - from) return false
  for (let index = 0; index < word.length; index++) {
    if (word.charCodeAt(index) !== chunk[from + index]) return false
  }
  return true
}
