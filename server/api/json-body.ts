import { setImmediate as turn } from 'node:timers/promises'
import { type ApiError, validationError } from '../lib/errors.ts'

/** No request of the API needs more than five levels. */
const MAX_DEPTH = 32

/** A manifest of 1,000 files has about 8,000. */
const MAX_MEMBERS = 50_000

/** Length of a name as it is written. */
const MAX_NAME_BYTES = 1000

/** Other work of the event loop is done after these; a string is scanned whole. */
const SLICE_BYTES = 2 ** 20

const [QUOTE, COMMA, COLON, OPEN_ARRAY, BACKSLASH, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const

/**
 * Returns the number of members and elements. VALIDATION_ERROR beyond a limit: parsing and validating millions of
 * nested or tiny values, or storing a name of millions of characters, would hold the event loop for long.
 */
export async function checkJsonStructure(bytes: Uint8Array): Promise<number> {
  let depth = 0
  let members = 0
  let stringBytes = 0
  let sliceEnd = SLICE_BYTES
  for (let at = 0; at < bytes.length; at++) {
    if (at > sliceEnd) {
      await turn()
      sliceEnd = at + SLICE_BYTES
    }
    switch (bytes[at]) {
      case QUOTE: {
        const end = endOfString(bytes, at)
        stringBytes = end - at
        at = end
        break
      }
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH) throw excess(`must not be nested more than ${MAX_DEPTH} levels deep`)
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COLON:
        if (stringBytes > MAX_NAME_BYTES)
          throw excess(`must have names of at most ${MAX_NAME_BYTES} characters`)
        members++
        break
      case COMMA:
        members++
    }
    if (members > MAX_MEMBERS) throw excess(`must have at most ${MAX_MEMBERS} members and elements in total`)
  }
  return members
}

function excess(message: string): ApiError {
  return validationError([{ field: 'body', message }])
}

/** The end of the text when no quote ends the string. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] === BACKSLASH) at++
  }
  return bytes.length
}
