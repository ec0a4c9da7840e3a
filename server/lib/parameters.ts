/** The first hundred, of a text from outside: each name or value that is not percent-encoded UTF-8 takes long. */
export function readParameters(text: string): URLSearchParams {
  return new URLSearchParams(text.split('&', 100).join('&'))
}
