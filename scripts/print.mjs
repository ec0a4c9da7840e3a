/**
 * Prints a progress message for the user to stderr.
 *
 * @param {string} sentence
 */
export function print(sentence) {
  process.stderr.write(`${sentence}\n`)
}
