/**
 * Tells the person at the terminal what happens, beside the output of the service.
 *
 * @param {string} sentence
 */
export function print(sentence) {
  process.stderr.write(`${sentence}\n`)
}
