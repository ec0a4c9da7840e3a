import { print } from './print.mjs'

/** An error that the user can fix: its message is the whole explanation. */
export class SetupError extends Error {}

/**
 * Runs `work` and ends this process; a SetupError is printed as a sentence, not as a stack.
 *
 * @param {() => Promise<void>} work
 */
export async function main(work) {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    print(error.message)
    process.exitCode = 1
  }
}
