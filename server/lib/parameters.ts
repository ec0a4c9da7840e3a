/** Each name and value that is not percent-encoded UTF-8 takes long: of a text from outside, the first hundred count. */
export function readParameters(text: string): URLSearchParams {
  return new URLSearchParams(text.split('&', 100).join('&'))
}
