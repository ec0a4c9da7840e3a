/** Words that are remembered: a power of two. With the longest of them, some megabytes at most. */
const MOST = 16_384
const LONGEST = 128

/** By their hash; a word whose place is taken takes it over. */
const words: (string | undefined)[] = new Array(MOST)

/**
 * The characters of a chunk from `from` up to `to`, as latin1. Hosts and paths come again and again: the same string is
 * given for the same bytes as long as it is remembered, so that it is neither made nor hashed anew.
 */
export function wordIn(chunk: Buffer, from: number, to: number): string {
  if (to - from > LONGEST) return chunk.toString('latin1', from, to)
  let hash = 0
  for (let at = from; at < to; at++) hash = (Math.imul(hash, 31) + chunk[at]!) | 0
  const place = hash & (MOST - 1)
  const known = words[place]
  if (known !== undefined && says(known, chunk, from, to)) return known
  const word = chunk.toString('latin1', from, to)
  words[place] = word
  return word
}

function says(word: string, chunk: Buffer, from: number, to: number): boolean {
  if (word.length !== to - from) return false
  for (let index = 0; index < word.length; index++) {
    if (word.charCodeAt(index) !== chunk[from + index]) return false
  }
  return true
}
