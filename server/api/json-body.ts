import { type ApiError, validationError } from '../lib/errors.ts'

/** How deep arrays and objects may be nested; no request of the API needs more than five levels. */
const MAX_DEPTH = 32

/** Members and elements of all objects and arrays; a manifest of 1,000 files has about 8,000. */
const MAX_MEMBERS = 50_000

const [QUOTE, COMMA, COLON, OPEN_ARRAY, BACKSLASH, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [
  0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const

/**
 * Checks the structure of a JSON text before it is parsed and returns its number of members and elements;
 * VALIDATION_ERROR when it exceeds a limit. Parsing, validating and collecting millions of nested or tiny values
 * would hold the event loop for hundreds of milliseconds.
 */
export function checkJsonStructure(text: string): number {
  let depth = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
        break
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth > MAX_DEPTH) throw excess(`must not be nested more than ${MAX_DEPTH} levels deep`)
        break
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
      case COLON:
        if (++members > MAX_MEMBERS)
          throw excess(`must have at most ${MAX_MEMBERS} members and elements in total`)
    }
  }
  return members
}

function excess(message: string): ApiError {
  return validationError([{ field: 'body', message }])
}

/** The position of the quote that ends the string; the end of the text when none does. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return text.length
}
