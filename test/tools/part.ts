import { type PartName, whatIsMissing } from '../../scripts/test-dependencies.mjs'

/**
 * The options of a test that needs a part of scripts/test-dependencies.mjs:
 *
 *     test('a message arrives', requires('smtp'), async () => …)
 *
 * Without the part the test is skipped, with the command that installs it. In CI a skip is a failure.
 */
export function requires(...parts: PartName[]): { skip?: string } {
  const missing = parts.map(whatIsMissing).find((sentence) => sentence !== undefined)
  return missing === undefined ? {} : { skip: missing }
}
